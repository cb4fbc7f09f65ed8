/**
 * A log that cannot be written stops neither processes nor requests: on a full device, or if its reader has gone or does not
 * read. Lost lines are counted, and their number is logged once writing works again. Closed terminals: log-terminal.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { present } from '../support/elements.js'
import { type BareService, bareService, runBare } from '../support/service/bare-service.js'
import { scrape } from '../support/service/metrics.js'
import { mainFile, runCommand, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

/** Requests of each test, without a key, as any client can send them. */
const requests = 20

/** Sends requests without a key; returns the number of 401 responses. */
async function refusals({ url }: BareService, count = requests): Promise<number> {
  let refused = 0
  for (let i = 0; i < count; i++) {
    const request = { method: 'POST', body: '{}', headers: { connection: 'close' } }
    const { status } = await fetch(`${url}/topics/fetch`, request)
    if (status === 401) refused++
  }
  return refused
}

const dropped = async ({ adminUrl }: BareService): Promise<number> =>
  (await scrape(adminUrl)).value('topicd_log_lines_dropped_total')

/** Waits for at least `min` lost lines, because a scrape may show an earlier count of a busy worker; returns their number. */
function lostLines(service: BareService, min: number): Promise<number> {
  return until(`${min} lost lines are counted`, async () => {
    const count = await dropped(service)
    return count >= min ? count : undefined
  })
}

/** Asserts that no worker was restarted and that the lost lines are counted. */
async function unharmed(t: Test, service: BareService): Promise<void> {
  t.pass(`${await lostLines(service, requests)} lost lines are counted`)
  t.equal((await scrape(service.adminUrl)).value('topicd_worker_restarts_total'), 0, 'no worker has exited')
}

/** The keys in a store, read from a backup. */
async function keysIn(dataDir: string, directory: string) {
  mkdirSync(join(directory, 'topics'), { recursive: true })
  const { code, stderr } = await runCommand(['backup', join(directory, 'topics/data.mdb'), '--data', dataDir])
  assert.equal(code, 0, stderr)
  const store = openLmdbStore({ directory })
  const [keys, revision] = [await store.readKeys(), await store.keysRevision()]
  await store.close()
  return { keys, revision }
}

await t.test('a service whose log is full serves requests and revokes the first key that it cannot show', async (t) => {
  const directory = t.testdir()
  const full = openSync('/dev/full', 'w')
  // Not the data directory of `service`, because a first key is created only in a new store.
  const [dataDir, other] = [join(directory, 'db'), join(directory, 'other')]
  const service = await bareService(other, ['--access-log', '--first-key'])
  const command = service.command.map((word) => (word === other ? dataDir : word)) as [string, ...string[]]
  const { stop } = await runBare(t, { ...service, command }, ['ignore', full, full])
  t.equal(await refusals(service), requests)
  await unharmed(t, service)
  let copies = 0
  const { keys } = await until('a key was created and revoked', async () => {
    const found = await keysIn(dataDir, join(directory, `copy${copies++}`))
    return found.revision === 2 ? found : undefined
  })
  t.strictSame(keys, [], 'a key that could not be printed is not kept')
  t.strictSame(await stop(), [0, null])
})

await t.test('a service whose log is not read serves requests and later counts lost lines', async (t) => {
  const service = await bareService(join(t.testdir(), 'db'), ['--access-log'])
  const { child, stop } = await runBare(t, service, ['ignore', 'pipe', 'inherit'])
  const stdout = present(child.stdout ?? undefined)
  const full = async (): Promise<true | undefined> => {
    await refusals(service, 100)
    return (await dropped(service)) >= requests ? true : undefined
  }
  await until('the pipe is full', full, 120_000)
  await unharmed(t, service)

  let text = ''
  stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const report = await until('the line that reports lost lines', async () => {
    await refusals(service, 1)
    return /^.*log lines were lost.*$/m.exec(text)?.[0]
  })
  const { level, count, role } = JSON.parse(report) as { level: number; count: number; role: string }
  t.equal(count, await lostLines(service, count), 'the line counts all lost lines')
  t.match({ level, role }, { level: 40, role: 'worker' })
  await refusals(service, 5)
  t.strictSame(await stop(), [0, null])
  for (const line of text.trimEnd().split('\n')) JSON.parse(line)
  t.equal(text.match(/log lines were lost/g)?.length, 1, 'lost lines are reported once')
})

await t.test('a service whose log reader has gone serves requests and counts lost lines', async (t) => {
  const service = await bareService(join(t.testdir(), 'db'), ['--access-log'])
  const { child, stop } = await runBare(t, service, ['ignore', 'pipe', 'pipe'])
  child.stdout?.destroy()
  child.stderr?.destroy()
  t.equal(await refusals(service), requests)
  await unharmed(t, service)
  t.strictSame(await stop(), [0, null])
})

await t.test('a failed start returns the documented exit code even if the reason cannot be printed', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const full = openSync('/dev/full', 'w')
  const code = async (...flags: readonly string[]): Promise<unknown> => {
    const args = [mainFile, 'serve', '--data', join(t.testdirName, 'db'), '--admin-port', '0', ...flags]
    const [code] = await once(spawn(...tied(process.execPath, args), { stdio: ['ignore', full, full] }), 'exit')
    return code
  }
  t.equal(await code('--port', String((taken.address() as AddressInfo).port)), 10, 'a port in use')
  t.equal(await code('--nonsense'), 2, 'an unknown flag')
})
