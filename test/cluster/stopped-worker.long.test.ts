/**
 * A worker that stops responding, here by SIGSTOP, does not block the others: API keys are changed and the store is opened without it. A
 * stopped writer is killed and replaced, and no write fails.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { first } from '../support/elements.js'
import { type Server, startServer, until } from '../support/service/server.js'

/** Whether a process is stopped by a signal. */
function isStopped(pid: number): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

/** The status of the first response over new connections, which the kernel spreads over the workers. */
async function firstAnswer(server: Server, token: string): Promise<number> {
  const clients = Array.from({ length: 24 }, () => server.connect(1, token))
  const answers = clients.map((client) => client.post('fetch', {}))
  for (const answer of answers) answer.catch(() => {})
  const { status } = await Promise.any(answers)
  for (const client of clients) client.close()
  return status
}

t.test('keys can be changed and the store can be opened despite a stopped worker', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const [gone, turned] = [await server.addKey('gone'), await server.addKey('turned')]
  const stopped = first(server.workerPids())
  /** Resumes the worker, and waits until every worker responds to the token with this status. */
  const resume = async (token: string, status: number) => {
    process.kill(stopped, 'SIGCONT')
    await until(`every worker responds with ${status}`, async () => {
      const requests = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
      return (await Promise.all(requests)).every((response) => response.status === status) || undefined
    })
  }
  // On a busy machine the other worker may be late as well.
  const named = new RegExp(
    `^topicd: workers? .*\\b${stopped}\\b.* did not respond; until (it does or is|they do or are) replaced, `,
  )

  process.kill(stopped, 'SIGSTOP')
  const revoked = await server.command('keys', 'revoke', 'gone')
  t.ok(isStopped(stopped), 'the command has not waited for the stopped worker')
  t.match(revoked, { code: 0, stdout: /^$/, stderr: named })
  t.equal(await firstAnswer(server, gone), 401, 'the other worker rejects the key')
  await resume(gone, 401)

  process.kill(stopped, 'SIGSTOP')
  const rotated = await server.command('keys', 'rotate', 'turned', '--grace', '0s')
  t.ok(isStopped(stopped), 'the command has not waited for the stopped worker')
  t.match(rotated, { code: 0, stdout: /^topicd_/ })
  t.match(rotated.stderr, named)
  t.equal(await firstAnswer(server, turned), 401, 'the other worker rejects the former token')
  await resume(turned, 401)

  process.kill(stopped, 'SIGSTOP')
  const added = await server.command('keys', 'add', 'new')
  t.ok(isStopped(stopped), 'the command has not waited for the stopped worker')
  t.match(added, { code: 0, stderr: named })
  const token = added.stdout.trim()
  t.equal(await firstAnswer(server, token), 400, 'the other worker accepts the key')

  const checked = await server.command('check')
  t.equal(checked.code, 0, checked.stderr)
  t.ok(isStopped(stopped), 'the store was opened without waiting for it')
  await resume(token, 400)

  const admin = await server.addKey('admin', { allow: ['fetch', 'admin'] })
  process.kill(stopped, 'SIGSTOP')
  const clients = Array.from({ length: 24 }, () => server.connect(1, admin))
  // A worker rejects all but a few immediately; requests to the stopped worker wait.
  const created = clients.map(async (client, i) => {
    const { status, text } = await client.send('/console/keys', { op: 'create', name: `late-${i}` })
    return status === 200 ? text : Promise.reject(new Error(text))
  })
  for (const answer of created) answer.catch(() => {})
  t.match(JSON.parse(await Promise.any(created)), { token: /^topicd_/, late: [stopped] }, 'the worker is named')
  for (const client of clients) client.close()

  const all = server.workerPids()
  for (const worker of all) process.kill(worker, 'SIGSTOP')
  t.match(await server.command('keys', 'list'), { code: 0, stdout: /^new /m }, 'no worker is needed')
  t.ok(all.every(isStopped))
  for (const worker of all) process.kill(worker, 'SIGCONT')
})

t.test('a stopped writer is killed, and the next writer executes its writes', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const stopped = await until('a writer runs', async () => server.writerPid())
  process.kill(stopped, 'SIGSTOP')
  const writes = Array.from({ length: 24 }, (_, i) => server.connect().post('addAndSet', { path: `w/${i}`, value: 1 }))
  for (const write of writes) t.match((await write).text, '"created":true')
  const { reason } = await server.logged('process killed', ({ child }) => child === stopped)
  const [, silentMs] =
    /^it or its disk was unresponsive, and it had sent nothing for (\d+) ms$/.exec(String(reason)) ?? []
  t.ok(Number(silentMs) >= 10_000, String(reason))
  await server.logged('writer replaced')
})
