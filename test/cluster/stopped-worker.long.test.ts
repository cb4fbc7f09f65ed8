/**
 * A worker that stops responding, here by SIGSTOP, does not stop the others: API keys are changed without it, and it is
 * killed before it holds up their writes for long, whether it owns the write lock or they wait for it before an opening.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { first } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { type Server, startServer, until } from '../support/service/server.js'

/** Whether a process is stopped by a signal. */
function isStopped(pid: number): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

/** The status of the first answer over new connections, which the kernel spreads over the workers. */
async function firstAnswer(server: Server, token: string): Promise<number> {
  const clients = Array.from({ length: 24 }, () => server.connect(1, token))
  const answers = clients.map((client) => client.post('fetch', {}))
  for (const answer of answers) answer.catch(() => {})
  const { status } = await Promise.any(answers)
  for (const client of clients) client.close()
  return status
}

/** How long the others' first commit may take before they count as held up; if they only were slow, it is tried again. */
const commitMsMax = 3000

/** Stops a worker that does not own the write lock, such as for a question about keys that it has just been asked. */
async function stopBetweenCommits(server: Server, pid: number): Promise<void> {
  for (;;) {
    process.kill(pid, 'SIGSTOP')
    const clients = Array.from({ length: 24 }, () => server.connect())
    const writes = clients.map((client) => client.post('addAndSet', { path: 'lock/free', value: 1 }))
    for (const write of writes) write.catch(() => {})
    const committed = await Promise.race([Promise.any(writes), sleep(commitMsMax)])
    for (const client of clients) client.close()
    if (committed !== undefined) return
    process.kill(pid, 'SIGCONT')
    await sleep(commitMsMax)
  }
}

/** A worker that does not say that its writes wait: a slow disk would be a reason to kill the stopped one at once. */
const silentOnWaits = `
export * from './sound-open.js'
import { openLmdbStore as openSound } from './sound-open.js'
export function openLmdbStore(options) {
  return { ...openSound(options), commitWaitMs: undefined }
}
`

t.test('keys are revoked, rotated and made beside a stopped worker, which is named', async (t) => {
  const program = patchedProgram(t.testdir(), 'store/lmdb/open.js', silentOnWaits)
  const server = await startServer(t, { workers: 2, program, dataDir: `${t.testdirName}/db` })
  const [gone, turned] = [await server.addKey('gone'), await server.addKey('turned')]
  const stopped = first(server.workerPids())
  // On a busy machine the other worker may be late as well.
  const named = new RegExp(`^topicd: workers? .*\\b${stopped}\\b.* did not respond; until it does or is replaced, `)

  await stopBetweenCommits(server, stopped)
  const revoked = await server.command('keys', 'revoke', 'gone')
  t.ok(isStopped(stopped), 'the command has not waited for it')
  t.match(revoked, { code: 0, stdout: /^$/, stderr: named })
  t.equal(await firstAnswer(server, gone), 401, 'the other worker refuses the key')
  process.kill(stopped, 'SIGCONT')
  await until('every worker refuses it', async () => {
    const requests = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token: gone }))
    return (await Promise.all(requests)).every(({ status }) => status === 401) || undefined
  })

  await stopBetweenCommits(server, stopped)
  const rotated = await server.command('keys', 'rotate', 'turned', '--grace', '0s')
  t.ok(isStopped(stopped), 'the command has not waited for it')
  t.match(rotated, { code: 0, stdout: /^topicd_/ })
  t.match(rotated.stderr, named)
  t.equal(await firstAnswer(server, turned), 401, 'the other worker refuses the former token')
  process.kill(stopped, 'SIGCONT')
  await until('it serves by the new token', async () => {
    const requests = Array.from({ length: server.client.connections }, () =>
      server.post('fetch', {}, { token: turned }),
    )
    return (await Promise.all(requests)).every(({ status }) => status === 401) || undefined
  })

  await stopBetweenCommits(server, stopped)
  const added = await server.command('keys', 'add', 'new')
  t.ok(isStopped(stopped), 'the command has not waited for it')
  t.match(added, { code: 0, stderr: named })
  t.equal(await firstAnswer(server, added.stdout.trim()), 400, 'the other worker accepts the key')
  process.kill(stopped, 'SIGCONT')
})

t.test('a worker that stops before another process opens the store is killed for its silence', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const stopped = first(server.workerPids())
  process.kill(stopped, 'SIGSTOP')
  const checked = await server.command('check')
  t.equal(checked.code, 0, checked.stderr)
  const { reason } = await server.logged('process killed', ({ child }) => child === stopped)
  // Not for being late with its answer, which is allowed to take as long as a commit.
  const [, silentMs] = /^it hangs: nothing was heard from it for (\d+) ms$/.exec(reason as string) ?? []
  t.ok(Number(silentMs) >= 2000 && Number(silentMs) < 20_000, String(reason))
  await server.logged('worker replaced')
})

const stoppingItself = `
export * from './sound-batch.js'
import { BatchDecisions as SoundDecisions } from './sound-batch.js'
export class BatchDecisions extends SoundDecisions {
  decide(operations) {
    if (operations.some(({ path }) => path === 'stop-here')) process.kill(process.pid, 'SIGSTOP')
    return super.decide(operations)
  }
}
`

t.test('a worker that stops within a transaction is killed before the commits of the others fail', async (t) => {
  const program = patchedProgram(t.testdir(), 'store/batch.js', stoppingItself)
  const server = await startServer(t, { workers: 2, program, dataDir: `${t.testdirName}/db` })
  const clients = Array.from({ length: 24 }, () => server.connect())
  await Promise.all(clients.map((client) => client.post('fetch', {})))
  const [stopper, ...others] = clients
  const lost = stopper?.post('batch', { operations: [{ op: 'addAndSet', path: 'stop-here', value: 1 }] })
  const noAnswer = lost?.then(
    () => t.fail('the worker has not stopped'),
    () => t.pass('its worker was killed'),
  )
  await until('a worker has stopped', async () => server.workerPids().some(isStopped) || undefined)
  // Those on the stopped worker get no answer; all others wait for the lock.
  const writes = await Promise.allSettled(
    others.map((client, i) => client.post('addAndSet', { path: `w/${i}`, value: 1 })),
  )
  await noAnswer
  const answers = writes.flatMap((write) => (write.status === 'fulfilled' ? [write.value.status] : []))
  t.ok(answers.length > 0, 'the other worker has answered')
  t.ok(
    answers.every((status) => status === 200),
    `${answers}`,
  )
  const { reason } = await server.logged('process killed')
  t.match(reason, /^it hangs: nothing was heard from it for [2-9]\d{3} ms$/)
  t.notOk(
    server.log.some(({ msg }) => msg === 'commit failed; this worker ends'),
    'no commit has failed',
  )
  await server.logged('worker replaced')
})
