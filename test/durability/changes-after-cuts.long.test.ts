/**
 * Readers of changes keep their tokens over power cuts, and go on after each without a gap: they were shown only what was
 * on the disk. The service stands still at the instant of a cut, all its processes are killed, and it starts again with
 * what the disk had. A build that does not wait for the disk must be caught. POWER_CUTS=20 cuts more often.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { type Disk, makeDisk, whyNoPowerCuts } from '../support/faults/power.js'
import { FollowedTree, limitedKey } from '../support/load/followed-tree.js'
import { childrenOf } from '../support/machines/processes.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'

const cuts = Number(process.env.POWER_CUTS ?? 4)

/** The control is caught by then. */
const controlCuts = 5

/** Before each cut so much more is acknowledged. */
const writesMin = 300

/** By then readers have what the service had sent before it was stopped. */
const readMs = 30

const withoutSync = `import { openEnvironment as openSoundEnvironment } from './sound-environment.js'
export * from './sound-environment.js'

export function openEnvironment(directory) {
  return openSoundEnvironment(directory, { noSync: true })
}
`

t.setTimeout((180 + 60 * cuts) * 1000)

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      // It has ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Cuts the power of a service, and leaves on the disk what it had at that instant. */
async function cutOff(disk: Disk, server: Server, onCut: () => void): Promise<void> {
  const pids = [server.pid, ...childrenOf(server.pid)]
  const copy = await disk.cut(async () => {
    signal(pids, 'SIGSTOP')
    await sleep(readMs)
  }, onCut)
  signal(pids, 'SIGKILL')
  await server.exited
  rmSync(server.dataDir, { recursive: true })
  execFileSync('cp', ['-a', join(copy.directory, 'db'), server.dataDir])
  // What was on the disk must be there at the next cut, too.
  execFileSync('sync', ['-f', disk.directory])
  copy.forget()
}

interface Outcome {
  readonly followed: FollowedTree
  readonly server: Server
  readonly made: number
}

/** Cuts the power of a service so often; that of another build until something wrong was shown. */
async function cutOften(t: Test, times: number, program?: string): Promise<Outcome> {
  const disk = makeDisk(t)
  const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags, exitCode: undefined, check: false }
  // The sound build makes the API keys, which have to survive each cut.
  const sound = await startServer(t, options)
  const { token } = sound
  const limited = await limitedKey(sound)
  await sound.stop()
  const start = (): Promise<Server> => startServer(t, { ...options, token, program })
  let server = await start()
  let running: Server | undefined = server
  const random = seededRandom(t)
  const followed = new FollowedTree({ target: () => running, limited, random })
  const { tree } = followed
  let made = 0
  for (; made < times && (program === undefined || followed.wrong.length === 0); made++) {
    const least = tree.writes + writesMin
    await until('more is written', async () => tree.writes > least || undefined)
    await sleep(random.below(200))
    await cutOff(disk, server, () => (running = undefined))
    server = await start()
    running = server
  }
  await followed.stop()
  return { followed, server, made }
}

const skip = whyNoPowerCuts()

t.test('readers of changes go on after power cuts', { skip }, async (t) => {
  const { followed, server, made } = await cutOften(t, cuts)
  await followed.check(t, server)
  reportResults(t, { ...followed.results(), cuts: made })
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}${check.stderr}`)
})

t.test('a build that does not wait for the disk shows what is lost', { skip }, async (t) => {
  const program = patchedProgram(join(t.testdir(), 'hasty'), 'store/lmdb/environment/environment.js', withoutSync)
  const { followed, made } = await cutOften(t, controlCuts, program)
  t.not(followed.wrong.length, 0, `after ${made} cuts: ${followed.wrong.slice(0, 3).join('; ')}`)
})
