/**
 * A power cut loses no acknowledged write and leaves the store sound. The control, a build that does not wait for the
 * disk, must lose some. POWER_CUTS=20 cuts more often.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { first } from '../support/only.js'
import { patchedProgram } from '../support/patched.js'
import { makeDisk, whyNoPowerCuts } from '../support/power.js'
import { type Server, startServer, until } from '../support/server.js'

const cuts = Number(process.env.POWER_CUTS ?? 2)
const connections = 32
const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]

t.setTimeout((60 + 15 * cuts) * 1000)

/** Writes without pause: new topics, each once, and a counter for each connection. */
class Writers {
  /** How many new topics of each connection were acknowledged; its counter is at least as high. */
  readonly acknowledged: number[] = Array.from({ length: connections }, () => 0)
  #stopping = false
  readonly #loops: Promise<void>[]

  constructor(server: Server) {
    this.#loops = this.acknowledged.map(async (_, i) => {
      const client = server.connect()
      for (let next = 1; !this.#stopping; next++) {
        const answers = await Promise.all([
          client.post('addAndSet', { path: `new/${i}/${next}`, value: next }),
          client.post('addAndSet', { path: `counters/${i}`, value: next }),
        ])
        for (const { status, text } of answers)
          if (status !== 200) throw new Error(`a write was answered ${status}: ${text}`)
        this.acknowledged[i] = next
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#loops)
  }
}

/** How many of the acknowledged writes are missing on the disk after the cut. */
async function lostAfter(t: Test, directory: string, token: string, acknowledged: readonly number[]): Promise<number> {
  const server = await startServer(t, { dataDir: join(directory, 'db'), token, flags, check: false })
  let lost = 0
  for (const [i, last] of acknowledged.entries()) {
    const [newest, counters] = await Promise.all([
      server.client.walk(`*new/${i}//`, { size: 1000 }),
      server.client.walk(`>counters/${i}`),
    ])
    const found = new Set(newest.flatMap(({ results }) => results.map(({ path }) => path)))
    for (let value = 1; value <= last; value++) if (!found.has(`new/${i}/${value}`)) lost++
    const counter = first(counters).results.at(0)?.value ?? 0
    if ((counter as number) < last) lost++
  }
  await server.stop()
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}${check.stderr}`)
  return lost
}

async function cutOften(t: Test, times: number, program?: string): Promise<{ lost: number; acknowledged: number }> {
  const disk = makeDisk(t)
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags, check: false }
  // The sound build makes the API key, which has to survive each cut.
  const sound = await startServer(t, options)
  await sound.stop()
  const server = await startServer(t, { ...options, token: sound.token, program })
  const writers = new Writers(server)
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  let lost = 0
  for (let cut = 0; cut < times; cut++) {
    const before = sum(writers.acknowledged)
    await until('more is written', async () => sum(writers.acknowledged) > before + 500 || undefined)
    const acknowledged = [...writers.acknowledged]
    const { directory, forget } = disk.cut()
    lost += await lostAfter(t, directory, server.token, acknowledged)
    forget()
  }
  await writers.stop()
  await server.stop()
  return { lost, acknowledged: 2 * sum(writers.acknowledged) }
}

t.test('power cuts lose nothing that was acknowledged', { skip: whyNoPowerCuts() }, async (t) => {
  const { lost, acknowledged } = await cutOften(t, cuts)
  t.equal(lost, 0, `${cuts} cuts under ${acknowledged} writes`)
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
  })
})
