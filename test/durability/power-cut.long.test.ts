/**
 * A power cut loses no acknowledged write, brings back nothing that was removed, leaves no part of a batch, and leaves
 * the store sound: at any instant, in the middle of batches and removals by selector, during a backup, and during a
 * rolling restart. The control, a build that does not wait for the disk, must lose some. POWER_CUTS=20 cuts more often.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { reportFigures } from '../support/figures.js'
import { at } from '../support/only.js'
import { patchedProgram } from '../support/patched.js'
import { type Disk, makeDisk, whyNoPowerCuts } from '../support/power.js'
import { PowerLoad, totalOf } from '../support/power-load.js'
import { type Random, seededRandom } from '../support/random.js'
import { runCommand, type Server, startServer, until } from '../support/server.js'

const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]

/** What goes on at the cuts, in turn: of ten, five meet batches and removals. */
const moments = [
  'batches and removals',
  'backup',
  'rolling restart',
  'batches and removals',
  'any',
  'batches and removals',
  'any',
  'batches and removals',
  'any',
  'batches and removals',
] as const
type Moment = (typeof moments)[number]

const cuts = Number(process.env.POWER_CUTS ?? 3)

/** Before each cut so much more is acknowledged. */
const writesMin = 500

t.setTimeout((90 + 20 * cuts) * 1000)

interface Scene {
  readonly server: Server
  readonly disk: Disk
  readonly load: PowerLoad
  readonly random: Random
}

/** Waits for the moment, cuts, and resolves with the copy and whatever ends what was begun for it. */
async function cutAt(moment: Moment, { server, disk, load, random }: Scene) {
  const sleep = (msMax: number) => new Promise((resolve) => setTimeout(resolve, random.below(msMax)))
  const cut = () => {
    const before = load.acknowledged()
    const copy = disk.cut()
    return { ...copy, before, sentAfter: load.sentBatches() }
  }
  switch (moment) {
    case 'any':
      await sleep(200)
      return { ...cut(), ended: undefined }
    case 'batches and removals':
      await sleep(200)
      while (!load.isWritingMany) await new Promise((resolve) => setImmediate(resolve))
      return { ...cut(), ended: undefined }
    case 'backup': {
      const file = join(disk.directory, 'backup.mdb')
      rmSync(file, { force: true })
      const ended = server.command('backup', file)
      await until('the backup has begun', async () => existsSync(`${file}.partial`) || existsSync(file) || undefined)
      await sleep(60)
      return { ...cut(), ended }
    }
    case 'rolling restart': {
      const restarts = () => server.log.filter(({ msg }) => msg === 'rolling restart done').length
      const done = restarts()
      server.signal('SIGHUP')
      await sleep(1500)
      return { ...cut(), ended: until('the end of the rolling restart', async () => restarts() > done || undefined) }
    }
  }
}

/** A backup that a cut left under its name is whole. */
async function checkBackup(t: Test, directory: string): Promise<void> {
  const file = join(directory, 'backup.mdb')
  if (!existsSync(file)) return
  const data = join(t.testdirName, 'restored')
  mkdirSync(data, { recursive: true })
  const { code, stderr } = await runCommand(['restore', file, '--data', data])
  t.equal(code, 0, `the backup is whole: ${stderr}`)
  rmSync(data, { recursive: true, force: true })
}

interface Result {
  readonly lost: number
  readonly faults: readonly string[]
  readonly acknowledged: number
}

async function cutOften(t: Test, times: number, program?: string): Promise<Result> {
  const disk = makeDisk(t)
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags, check: false }
  // The sound build makes the API key, which has to survive each cut.
  const sound = await startServer(t, options)
  await sound.stop()
  const server = await startServer(t, { ...options, token: sound.token, program })
  const load = new PowerLoad(server)
  const scene = { server, disk, load, random: seededRandom(t) }
  let lost = 0
  const faults: string[] = []
  for (let i = 0; i < times; i++) {
    const least = totalOf(load.acknowledged()) + writesMin
    await until('more is written', async () => totalOf(load.acknowledged()) > least || undefined)
    const moment = at(moments, i % moments.length)
    const { directory, forget, before, sentAfter, ended } = await cutAt(moment, scene)
    const copy = await startServer(t, { ...options, dataDir: join(directory, 'db'), token: server.token })
    const damage = await load.damage(copy.client, before, sentAfter)
    lost += damage.lost
    faults.push(...damage.faults)
    await copy.stop()
    const check = await copy.command('check')
    t.equal(check.code, 0, `${moment}: the store is sound: ${check.stdout}${check.stderr}`)
    await checkBackup(t, directory)
    forget()
    await ended
  }
  await load.stop()
  await server.stop()
  return { lost, faults, acknowledged: totalOf(load.acknowledged()) }
}

t.test('power cuts lose nothing that was acknowledged', { skip: whyNoPowerCuts() }, async (t) => {
  const { lost, faults, acknowledged } = await cutOften(t, cuts)
  t.equal(lost, 0, `${cuts} cuts under ${acknowledged} writes`)
  t.strictSame(faults, [], 'batches are whole')
  const of = (wanted: Moment): number =>
    Array.from({ length: cuts }, (_, i) => at(moments, i % moments.length)).filter((moment) => moment === wanted).length
  reportFigures(t, {
    cuts,
    inBatches: of('batches and removals'),
    inBackups: of('backup'),
    inRestarts: of('rolling restart'),
    acknowledged,
  })
})

t.test('a build that does not wait for the disk loses what it acknowledged', { skip: whyNoPowerCuts() }, async (t) => {
  const program = patchedProgram(
    join(t.testdir(), 'hasty'),
    'store/lmdb/environment.js',
    `import { openEnvironment as openSoundEnvironment } from './sound-environment.js'
export * from './sound-environment.js'

export function openEnvironment(directory) {
  return openSoundEnvironment(directory, { noSync: true })
}
`,
  )
  await t.test('at the first cut', async (t) => {
    const { lost, acknowledged } = await cutOften(t, 1, program)
    t.not(lost, 0, `${lost} lost of ${acknowledged} writes`)
    reportFigures(t, { controls: 1, lostByControls: lost })
  })
})
