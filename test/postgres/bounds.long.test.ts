/**
 * Limits on one client's use of the engine and of a worker: big values are read a few at a time, and a stalled export does not keep the
 * engine's transaction open forever. A walk or a check whose transaction was ended reports that, and no damage.
 */

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { dirname, join } from 'node:path'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import { storedForms } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { first } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { mainFile, runCommand, type Server, startServer, until } from '../support/service/server.js'
import { begun, startCommand, toolOf } from '../support/service/tool-client.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { planned, waiting } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const mebibyte = 1024 * 1024

/**
 * Maximum growth of a worker by concurrent fetches of 32 big values. The values have 288 MiB in total, and would be in its memory twice
 * without a limit. A value of 9 MiB is just too large to share a statement with others, so it is read alone.
 */
const bytesMax = 320 * mebibyte
const [bigTopics, bigBytes] = [32, 9 * mebibyte]

/** The peak memory of a process, in bytes. */
function peakBytes(pid: number): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
  return Number(kibibytes) * 1024
}

/** Creates topics big/1, big/2, …, or the same below another root, with values of `valueBytes` bytes and a version from before the log. */
async function insertBig(store: string, topics: number, valueBytes: number, root = 'big'): Promise<void> {
  await execute(
    store,
    `insert into topicd.topics (key, type, generation, created, updated, version, item)
     select convert_to('${root}', 'UTF8') || '\\x00'::bytea || convert_to(n::text, 'UTF8'), 1, 1, 0, 0, 1,
       '{"path":"${root}/' || n || '","type":"json","value":"' || repeat('x', ${valueBytes}) || '"}'
     from generate_series(1, ${topics}) n`,
  )
}

/** Fetches a topic without keeping it; returns the number of bytes received, or 0 if the fetch is rejected. */
async function fetchedBytes({ url, token }: Server, agent: Agent, path: string): Promise<number> {
  const headers = { authorization: `Apikey ${token}`, 'content-type': 'application/json' }
  const req = request(`${url}/topics/fetch`, { method: 'POST', headers, agent })
  req.end(JSON.stringify({ path }))
  const [answer] = (await once(req, 'response')) as [IncomingMessage]
  let bytes = 0
  for await (const chunk of answer) bytes += (chunk as Buffer).length
  return answer.statusCode === 200 ? bytes : 0
}

/** Read by the first two tests. */
const storeOfBig = makeBig()

async function makeBig(): Promise<string> {
  const store = (await engine?.database()) ?? ''
  if (!skip) await insertBig(store, bigTopics, bigBytes)
  return store
}

await t.test('concurrent fetches of large values use a bounded memory', { skip, timeout: 600_000 }, async (t) => {
  const [topics, valueBytes] = [bigTopics, bigBytes]
  const store = await storeOfBig
  const server = await startServer(t, { store, workers: 1 })
  const worker = first(server.workerPids())
  const before = peakBytes(worker)
  const agent = new Agent({ keepAlive: true, maxSockets: topics })
  t.teardown(() => agent.destroy())
  const fetched = await Promise.all(
    Array.from({ length: topics }, (_, i) => fetchedBytes(server, agent, `big/${i + 1}`)),
  )
  t.ok(Math.min(...fetched) > valueBytes, `each response is complete: ${Math.min(...fetched)} bytes or more`)
  const grown = peakBytes(worker) - before
  t.ok(
    grown < bytesMax,
    `${topics} values of ${valueBytes} bytes grew the worker by ${Math.round(grown / mebibyte)} MiB`,
  )
})

await t.test('concurrent readers of large values are served about equally', { skip, timeout: 600_000 }, async (t) => {
  const opened = await openPostgresStore(await storeOfBig)
  t.teardown(() => opened.close())
  const endMs = performance.now() + 3000
  const answered = await Promise.all(
    Array.from({ length: 6 }, async (_, i) => {
      let count = 0
      for (; performance.now() < endMs; count++) await opened.readTopic(`big/${i + 1}` as Path, storedForms.json)
      return count
    }),
  )
  t.ok(Math.min(...answered) >= Math.max(...answered) / 2, `read ${answered.join(', ')} times`)
})

await t.test('concurrent pages of large items are correct and within limits', { skip, timeout: 600_000 }, async (t) => {
  const store = (await engine?.database()) ?? ''
  const roots = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  for (const root of roots) await insertBig(store, 12, 200_000, root)
  const opened = await openPostgresStore(store)
  t.teardown(() => opened.close())
  const readPage = async (
    root: string,
    bytesMax: number,
  ): Promise<[hasMore: boolean, items: readonly { path: string }[]]> => {
    const plan = planned(`*${root}//`)
    const query = { plan, form: storedForms.json, branches: undefined, after: undefined, size: 20, bytesMax }
    const { buffer, start, end, hasMore } = await opened.readPage(query, { aborted: false })
    return [hasMore, JSON.parse(`[${buffer.toString('utf8', start, end)}]`) as { path: string }[]]
  }
  for (const [bytesMax, items] of [
    [300_000, 1],
    [1_500_000, 7],
    [16 * mebibyte, 12],
  ] as const) {
    const pages = await Promise.all(roots.map((root) => readPage(root, bytesMax)))
    const found = pages.map(([hasMore, some]) => [hasMore, some.length, first(some).path.split('/')[0]])
    t.same(
      found,
      roots.map((root) => [items < 12, items, root]),
      `pages of at most ${bytesMax} bytes`,
    )
  }
})

/** The program with a tenth of the usual limit, a minute, on the idle time within a reader's transaction. */
function impatientProgram(directory: string): string {
  const file = 'store/postgres/connection/connections.js'
  const text = readFileSync(join(dirname(mainFile), file), 'utf8')
  const limit = 'idleMsMax: 60_000'
  assert(text.includes(limit), `${file} has ${limit}`)
  return patchedProgram(directory, file, text.replace(limit, 'idleMsMax: 6000'))
}

await t.test('the engine ends the transaction of a suspended export', { skip, timeout: 600_000 }, async (t) => {
  const store = (await engine?.database()) ?? ''
  const lines = Array.from({ length: 4000 }, (_, i) => `{"path":"t/${i}","value":"${'x'.repeat(1000)}"}\n`)
  const { code, stderr } = await runCommand(['import', '--allow-unfinished'], { TOPICD_STORE: store }, lines.join(''))
  t.equal(code, 0, stderr)
  const running = startCommand(t, ['export'], impatientProgram(t.testdir()), { TOPICD_STORE: store })
  await begun(running)
  const tool = await toolOf(running.child.pid ?? 0)
  t.teardown(() => process.kill(tool, 'SIGKILL'))
  process.kill(tool, 'SIGSTOP')
  const idle = (): Promise<readonly unknown[]> =>
    execute(
      store,
      `select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
  t.equal((await idle()).length, 1, 'the transaction of the export is open')
  const startedMs = performance.now()
  await until('the engine ends the transaction', async () => ((await idle()).length === 0 ? true : undefined))
  const seconds = (performance.now() - startedMs) / 1000
  t.ok(seconds > 3 && seconds < 60, `the transaction ended after ${seconds.toFixed(0)} s`)
})

await t.test('a walk and a check whose connection is lost report no damage', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const store = await openPostgresStore(address)
  t.teardown(() => store.close())
  await insertBig(address, 1200, 10)
  const disconnect = `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`
  const errorOf = (error: unknown): unknown => error
  const walk = async (): Promise<void> => {
    for await (const { path } of store.walk(planned('*.*'), waiting))
      if (path === 'big/1') await execute(address, disconnect)
  }
  t.match(await walk().catch(errorOf), { kind: 'unavailable' }, 'the walk')
  const findings: string[] = []
  let terminated: Promise<unknown> | undefined
  const check = store.check(
    (finding) => findings.push(finding),
    planSelector,
    () => (terminated ??= execute(address, disconnect)),
  )
  t.match(await check.catch(errorOf), { kind: 'unavailable' }, 'the check')
  await terminated
  t.strictSame(findings, [])
})
