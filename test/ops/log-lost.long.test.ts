/**
 * A log that cannot be written ends no process and stops no request: a full device, a closed terminal, a reader that
 * has gone or does not read. Lost lines are counted, and their number is logged once there is room again.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { present } from '../support/elements.js'
import { onTerminal, whyNoTerminal } from '../support/machines/terminal.js'
import { type BareService, bareService } from '../support/service/bare-service.js'
import { scrape } from '../support/service/metrics.js'
import { mainFile, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

/** Requests of each test: without a key, as any client could send them. */
const requests = 20

/** Sends requests without a key; returns how many were answered 401. */
async function refusals({ url }: BareService, count = requests): Promise<number> {
  let refused = 0
  for (let i = 0; i < count; i++) {
    const { status } = await fetch(`${url}/topics/fetch`, {
      method: 'POST',
      body: '{}',
      headers: { connection: 'close' },
    })
    if (status === 401) refused++
  }
  return refused
}

const dropped = async ({ adminUrl }: BareService): Promise<number> =>
  (await scrape(adminUrl)).value('topicd_log_lines_dropped_total')

/** How many lost lines are counted, at least `min`: of a busy worker, a scrape shows what it had counted earlier. */
function lostLines(service: BareService, min: number): Promise<number> {
  return until(`${min} lost lines are counted`, async () => {
    const count = await dropped(service)
    return count >= min ? count : undefined
  })
}

/** No worker was restarted, and the lost lines are counted. */
async function unharmed(t: Test, service: BareService): Promise<void> {
  t.pass(`${await lostLines(service, requests)} lost lines are counted`)
  t.equal((await scrape(service.adminUrl)).value('topicd_worker_restarts_total'), 0, 'no worker has ended')
}

await t.test('with its log on a full device, the service answers requests and stops with 0', async (t) => {
  const service = await bareService(join(t.testdir(), 'db'), ['--access-log'])
  const full = openSync('/dev/full', 'w')
  const child = spawn(...tied(service.command[0], service.command.slice(1)), { stdio: ['ignore', full, full] })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  await service.ready()
  t.equal(await refusals(service), requests)
  await unharmed(t, service)
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

await t.test(
  'after its terminal was closed, the service answers requests and stops with 0',
  { skip: whyNoTerminal() },
  async (t) => {
    const service = await bareService(join(t.testdir(), 'db'), ['--access-log'])
    const terminal = await onTerminal(t, service.command)
    await service.ready()
    await until('the log', async () => (terminal.shown().includes('listening') ? true : undefined))
    await terminal.close()
    t.equal(await refusals(service), requests)
    await unharmed(t, service)
    process.kill(terminal.pid, 'SIGTERM')
    t.equal(await terminal.ended, 0)
  },
)

await t.test(
  'while nobody reads its log, the service answers requests; once it is read, a line says how many lines were lost',
  async (t) => {
    const service = await bareService(join(t.testdir(), 'db'), ['--access-log'])
    const child = spawn(...tied(service.command[0], service.command.slice(1)), { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    t.teardown(() => child.kill('SIGKILL'))
    child.stdout.pause()
    await service.ready()
    const full = async (): Promise<true | undefined> => {
      await refusals(service, 100)
      return (await dropped(service)) >= requests ? true : undefined
    }
    await until('the pipe is full', full, 120_000)
    await unharmed(t, service)

    let text = ''
    child.stdout
      .setEncoding('utf8')
      .on('data', (chunk: string) => (text += chunk))
      .resume()
    const report = await until('the line that reports them', async () => {
      await refusals(service, 1)
      return /^.*log lines were lost.*$/m.exec(text)?.[0]
    })
    const { level, count, role } = JSON.parse(report) as { level: number; count: number; role: string }
    t.equal(count, await lostLines(service, count), 'it counts all of them')
    t.match({ level, role }, { level: 40, role: 'worker' })
    await refusals(service, 5)
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
    for (const line of text.trimEnd().split('\n')) JSON.parse(line)
    t.equal(text.match(/log lines were lost/g)?.length, 1, 'once')
  },
)

await t.test('when the reader of its log has gone, the service answers requests and counts lost lines', async (t) => {
  const service = await bareService(join(t.testdir(), 'db'), ['--access-log'])
  const child = spawn(...tied(service.command[0], service.command.slice(1)), { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  await service.ready()
  child.stdout.destroy()
  child.stderr.destroy()
  t.equal(await refusals(service), requests)
  await unharmed(t, service)
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

await t.test('a refused start has its exit code even if the reason cannot be printed', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const full = openSync('/dev/full', 'w')
  const dataDir = join(t.testdir(), 'db')
  const code = async (...flags: readonly string[]): Promise<unknown> => {
    const args = ['serve', '--data', dataDir, '--admin-port', '0', ...flags]
    const child = spawn(...tied(process.execPath, [mainFile, ...args]), {
      stdio: ['ignore', full, full],
    })
    const [code] = (await once(child, 'exit')) as [number | null]
    return code
  }
  t.equal(await code('--port', String(port)), 10, 'a port in use')
  t.equal(await code('--nonsense'), 2, 'a wrong flag')
})

await t.test('a first key that cannot be printed is not kept', async (t) => {
  const directory = t.testdir()
  const full = openSync('/dev/full', 'w')
  // The key is made some time after the service is ready, and nothing outside it shows when.
  for (const waitMs of [500, 2000, 8000]) {
    const dataDir = join(directory, String(waitMs))
    const other = `${dataDir}-other`
    const service = await bareService(other)
    const [program, ...args] = service.command.map((word) => (word === other ? dataDir : word))
    const child = spawn(...tied(present(program), [...args, '--first-key']), { stdio: ['ignore', full, full] })
    const ended = once(child, 'exit')
    t.teardown(() => child.kill('SIGKILL'))
    await service.ready()
    await sleep(waitMs)
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
    const store = openLmdbStore({ directory: dataDir })
    const [keys, revision] = [await store.readKeys(), await store.keysRevision()]
    await store.close()
    t.strictSame(keys, [])
    if (revision === 2) return void t.pass('a key was made and revoked')
  }
  return void t.fail('no key was created')
})
