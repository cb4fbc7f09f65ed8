/**
 * A power cut loses no acknowledged write, brings back no removed topic, leaves no part of a batch, and leaves a sound store. It may happen
 * at any instant: in the middle of batches and removals by selector, during and after a backup, and during a rolling restart. At every
 * other cut the service is stopped at that instant, which reveals an acknowledgement that was a moment too early. At the others it
 * continues, so that a flush is cut. A build that does not wait for the disk must lose data. POWER_CUTS=20 cuts more often.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { flush } from '../../dist/store/lmdb/environment/files.js'
import { at } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { type Disk, makeDisk, whyNoPowerCuts } from '../support/faults/power.js'
import { Strace } from '../support/faults/strace.js'
import { PowerLoad, type Progress } from '../support/load/power-load.js'
import { childrenOf, signalAll } from '../support/machines/processes.js'
import { type Results, reportResults, together } from '../support/proof-results.js'
import { type Random, seededRandom } from '../support/random.js'
import { type CommandResult, runCommand, type Server, startServer, until } from '../support/service/server.js'
import { turn } from '../support/turns.js'

const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]

/** The activity during each cut, in turn: five cuts of ten hit batches and removals. */
const moments = [
  'batches and removals',
  'backup',
  'rolling restart',
  'batches and removals',
  'after a backup',
  'batches and removals',
  'any',
  'batches and removals',
  'any',
  'batches and removals',
] as const
type Moment = (typeof moments)[number]

const cuts = Number(process.env.POWER_CUTS ?? 4)

/** Maximum attempts to cut before the moment is over. */
const triesMax = 8

/** Writes that are acknowledged before each cut. */
const writesMin = 500

/** Time for a client to read everything that a service sent before it was stopped. */
const readMs = 30

const controlCuts = 5

t.setTimeout((180 + 30 * cuts) * 1000)

interface Scene {
  readonly server: Server
  readonly disk: Disk
  readonly load: PowerLoad
  readonly random: Random
}

interface Cut {
  readonly directory: string
  readonly before: Progress
  readonly after: Progress
  /** Whether the cut hit the intended moment. */
  readonly wasMet: boolean
  forget(): void
}

/** @param isStopped whether the service is stopped at that instant */
async function cut({ server, disk, load }: Scene, occasion: Occasion, isStopped: boolean): Promise<Cut> {
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => signalAll([server.pid, ...childrenOf(server.pid)], name)
  let [before, after] = [load.progress(), load.progress()]
  let wasMet = true
  const look = (): Progress => {
    wasMet &&= occasion.isNow()
    return load.progress()
  }
  const copy = await disk.cut(
    async () => {
      if (isStopped) signal('SIGSTOP')
      if (isStopped) await sleep(readMs)
      before = look()
    },
    () => {
      after = look()
      if (isStopped) signal('SIGCONT')
    },
  )
  return { ...copy, before, after, wasMet: wasMet && occasion.isIn(copy.directory) }
}

/** A moment that has arrived. */
interface Occasion {
  /** Whether the moment still lasts. */
  isNow(): boolean
  /** Whether the disk after the cut shows the moment. */
  isIn(copy: string): boolean
  /** Work that was started for the moment. */
  readonly ended?: Promise<unknown>
}

const always = (): boolean => true

/** strace options that slow down the last step of a backup. */
const slowFlush = ['-e', 'trace=fsync', '-e', 'inject=fsync:delay_enter=1500000']

/** Waits for a moment. */
async function waitFor(t: Test, moment: Moment, { server, disk, load, random }: Scene): Promise<Occasion> {
  const file = join(disk.directory, 'backup.mdb')
  switch (moment) {
    case 'any':
      await sleep(random.below(200))
      return { isNow: always, isIn: always }
    case 'batches and removals':
      await sleep(random.below(200))
      while (!load.isWritingMany) await turn()
      return { isNow: () => load.isWritingMany, isIn: always }
    case 'backup': {
      rmSync(file, { force: true })
      // Otherwise the backup might be complete before the cut on a busy machine.
      const slow = await Strace.attachWith(t, server.pid, [...slowFlush, '-P', `${file}.partial/topics/data.mdb`])
      const ended = server.command('backup', file).then(requireDone)
      void ended.finally(() => slow.detach()).catch(() => {})
      while (!existsSync(`${file}.partial`)) await turn()
      // The name of the file is not flushed yet, so hardly any cut would show it.
      flush(disk.directory)
      return { isNow: always, isIn: (copy) => existsSync(join(copy, 'backup.mdb.partial')), ended }
    }
    case 'after a backup':
      rmSync(file, { force: true })
      requireDone(await server.command('backup', file))
      return { isNow: always, isIn: (copy) => existsSync(join(copy, 'backup.mdb')) }
    case 'rolling restart': {
      const restarts = () => server.timesLogged('rolling restart done')
      const done = restarts()
      server.signal('SIGHUP')
      await sleep(random.below(1500))
      const ended = until('the rolling restart has ended', async () => restarts() > done || undefined)
      return { isNow: () => restarts() === done, isIn: always, ended }
    }
  }
}

function requireDone({ code, stderr }: CommandResult): void {
  if (code !== 0) throw new Error(`the backup ended with ${code}: ${stderr}`)
}

interface Result {
  readonly lost: number
  readonly faults: readonly string[]
  readonly acknowledged: number
  /** The number of times that each moment was met, and the outcomes of the writes in flight. */
  readonly results: Results
}

/** Cuts a service's power `times` times; with another build, only until something is lost. */
async function cutOften(t: Test, times: number, program?: string): Promise<Result> {
  const disk = makeDisk(t)
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags, check: false }
  // The sound build creates the API key, which must survive each cut.
  const sound = await startServer(t, options)
  await sound.stop()
  const server = await startServer(t, { ...options, token: sound.token, program })
  const load = new PowerLoad(server)
  const scene: Scene = { server, disk, load, random: seededRandom(t) }
  const faults: string[] = []
  let lost = 0
  let results: Results = {}
  const count = (more: Results): void => void (results = together([results, more]))

  async function compare(moment: Moment, { directory, before, after }: Cut): Promise<void> {
    const copy = await startServer(t, { ...options, dataDir: join(directory, 'db'), token: server.token })
    const damage = await load.damage(copy.client, before, after)
    lost += damage.lost
    faults.push(...damage.faults)
    count({ whole: damage.whole, absent: damage.absent, halfRemoved: damage.halfRemoved })
    await copy.stop()
    // A store that never waited for the disk may be damaged.
    if (program !== undefined) return
    const check = await copy.command('check')
    t.equal(check.code, 0, `${moment}: the store is sound: ${check.stdout}${check.stderr}`)
    const file = join(directory, 'backup.mdb')
    if (!existsSync(file)) return
    // A backup with its final name is complete; it is older than the cut.
    const data = join(t.testdirName, 'restored')
    mkdirSync(data, { recursive: true })
    const { code, stderr } = await runCommand(['restore', file, '--data', data])
    t.equal(code, 0, `the backup is complete: ${stderr}`)
    rmSync(data, { recursive: true, force: true })
    count({ restored: 1 })
  }

  /** @returns whether the cut hit the moment */
  async function cutAt(moment: Moment, isStopped: boolean): Promise<boolean> {
    const least = load.acknowledged + writesMin
    await until('more is written', async () => load.acknowledged > least || undefined)
    const occasion = await waitFor(t, moment, scene)
    const made = await cut(scene, occasion, isStopped)
    await compare(moment, made)
    made.forget()
    await occasion.ended
    return made.wasMet
  }

  for (let i = 0; i < times && (program === undefined || lost + faults.length === 0); i++) {
    const moment = program === undefined ? at(moments, i % moments.length) : 'any'
    let tries = 1
    while (!(await cutAt(moment, i % 2 === 0)) && tries < triesMax) tries++
    if (tries < triesMax) count({ [moment]: 1 })
    else faults.push(`the moment was not met: ${moment}`)
  }
  await load.stop()
  await server.stop()
  return { lost, faults, results, acknowledged: load.acknowledged }
}

t.test('power cuts lose no acknowledged write', { skip: whyNoPowerCuts() }, async (t) => {
  const { lost, faults, acknowledged, results } = await cutOften(t, cuts)
  t.equal(lost, 0, `${cuts} cuts under ${acknowledged} writes`)
  t.strictSame(faults, [], 'no batch is partial, removals are of the first matches, and every moment was met')
  reportResults(t, { cuts, lost, faults: faults.length, acknowledged, ...results })
})

const withoutSync = `import { openEnvironment as openSoundEnvironment } from './sound-environment.js'
export * from './sound-environment.js'

export function openEnvironment(directory) {
  return openSoundEnvironment(directory, { noSync: true })
}
`

t.test('a build that does not wait for the disk loses data (control)', { skip: whyNoPowerCuts() }, async (t) => {
  const program = patchedProgram(join(t.testdir(), 'hasty'), 'store/lmdb/environment/environment.js', withoutSync)
  await t.test('a few power cuts are enough to show a loss', async (t) => {
    const { lost, faults, acknowledged } = await cutOften(t, controlCuts, program)
    t.not(lost + faults.length, 0, `${lost} lost of ${acknowledged} writes, ${faults.length} other faults`)
    reportResults(t, { controls: 1, lostByControls: lost + faults.length })
  })
})
