/** The memory that processes of the product have in use, not counting garbage. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../service/server.js'

const planted = join(import.meta.dirname, '../../../test/support/machines/memory-on-signal.mjs')

/** The environment of a server whose processes report their memory. */
export function memoryEnv(directory: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=${planted}`, MEMORY_DIRECTORY: directory }
}

/**
 * The memory in use by the process that uses the most, in MiB; a process that has just exited counts as 0.
 *
 * @param directory the directory passed to `memoryEnv`
 */
export async function memoryInUseMiB(directory: string, pids: readonly number[]): Promise<number> {
  const sizes = await Promise.all(pids.map((pid) => inUseBytes(join(directory, String(pid)), pid)))
  return Math.max(...sizes) / (1024 * 1024)
}

async function inUseBytes(file: string, pid: number): Promise<number> {
  rmSync(file, { force: true })
  let isAsked = false
  return until(`process ${pid} reports its memory`, async () => {
    if (existsSync(file)) return Number(readFileSync(file, 'utf8'))
    if (!existsSync(`/proc/${pid}`)) return 0
    if (!isAsked && existsSync(`${file}.listens`)) isAsked = ask(pid)
    return undefined
  })
}

function ask(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGUSR2')
  } catch {
    // The process has just exited.
    return false
  }
}
