/**
 * A power cut loses no acknowledged write, leaves no part of a batch, and keeps the tokens of change readers valid, because readers see
 * only changes that are on disk. The service is stopped at the instant of a cut, all its processes are killed, and it starts again with the
 * content of the disk. POWER_CUTS=20 cuts more often.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Disk, makeDisk, whyNoPowerCuts } from '../support/faults/power.js'
import { FollowedTree, limitedKey } from '../support/load/followed-tree.js'
import { childrenOf, signalAll } from '../support/machines/processes.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'

const cuts = Number(process.env.POWER_CUTS ?? 2)

/** Writes that are acknowledged before each cut. */
const writesMin = 300

/** Time for readers to get everything that the service sent before it was stopped. */
const readMs = 30

t.setTimeout((180 + 60 * cuts) * 1000)

/** Cuts a service's power, and leaves the disk in its state at that instant. */
async function cutOff(disk: Disk, server: Server, onCut: () => void): Promise<void> {
  const pids = [server.pid, ...childrenOf(server.pid)]
  const copy = await disk.cut(async () => {
    signalAll(pids, 'SIGSTOP')
    await sleep(readMs)
  }, onCut)
  signalAll(pids, 'SIGKILL')
  await server.exited
  rmSync(server.dataDir, { recursive: true })
  execFileSync('cp', ['-a', join(copy.directory, 'db'), server.dataDir])
  // The restored data must also be on disk at the next cut.
  execFileSync('sync', ['-f', disk.directory])
  copy.forget()
}

t.test('power cuts lose no acknowledged write, and followers then resume', { skip: whyNoPowerCuts() }, async (t) => {
  const disk = makeDisk(t)
  const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags, exitCode: undefined, check: false }
  let server = await startServer(t, options)
  const { token } = server
  const limited = await limitedKey(server)
  let running: Server | undefined = server
  const random = seededRandom(t)
  const followed = new FollowedTree({ target: () => running, limited, random })
  const { tree } = followed
  for (let made = 0; made < cuts; made++) {
    const least = tree.writes + writesMin
    await until('more is written', async () => tree.writes > least || undefined)
    await sleep(random.below(200))
    await cutOff(disk, server, () => (running = undefined))
    server = await startServer(t, { ...options, token })
    running = server
  }
  await followed.stop()
  await followed.check(t, server)
  t.comment(JSON.stringify(followed.results()))
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}${check.stderr}`)
})
