/**
 * autocannon as the driver: one process for all bursts, so that its code stays compiled. It compares every body with those allowed for its
 * request. It is often the bottleneck, because it sends only a few tens of thousands of requests per second on one core.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageVersion } from '../measure/machine.js'
import type { Burst, Driver } from './driver.js'

const program = fileURLToPath(new URL('autocannon-process.js', import.meta.url))

/** @param directory where the files of jobs are written */
export function autocannonDriver(directory: string): Driver {
  const child = fork(program, { execArgv: ['--max-old-space-size=4096'] })
  let settle: { resolve: (burst: Burst) => void; reject: (error: Error) => void } | undefined
  child.on('message', (burst: Burst) => settle?.resolve(burst))
  child.on('exit', (code) => settle?.reject(new Error(`autocannon's process exited with ${code}`)))
  return {
    name: 'autocannon',
    version: `autocannon ${packageVersion('autocannon')}`,
    run: async (job) => {
      const file = join(directory, 'job.json')
      await writeFile(file, JSON.stringify(job))
      const burst = await new Promise<Burst>((resolve, reject) => {
        settle = { resolve, reject }
        child.send(file)
      })
      await rm(file)
      return burst
    },
    stop: async () => {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}
