/**
 * A child as the primary sees it, with a simulated process: an awaited message arrives, is late, or never arrives. Also the primary's
 * handling of several children: two that get the same API key change in turn, and one that cannot be started as a replacement.
 */
import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import t from 'tap'
import type { FromChild, Start, ToChild } from '../../dist/cluster/messages.js'
import { ApiKeys } from '../../dist/cluster/primary/api-keys.js'
import { Child } from '../../dist/cluster/primary/child.js'
import { StoreOpener } from '../../dist/cluster/primary/store-opening.js'
import { Workers } from '../../dist/cluster/primary/workers.js'
import type { Logger } from '../../dist/ops/log.js'
import { present } from '../support/elements.js'
import { until } from '../support/service/server.js'

interface Line {
  readonly child?: number
  readonly reason?: string
}

/** A process that sends messages on the test's request and exits on SIGKILL. */
class FakeProcess extends EventEmitter {
  connected = true
  readonly received: ToChild[] = []
  readonly signals: string[] = []

  constructor(readonly pid: number | undefined = 4711) {
    super()
  }

  send(message: ToChild): boolean {
    this.received.push(message)
    this.emit('sent', message)
    return true
  }

  report(message: FromChild): void {
    this.emit('message', message)
  }

  kill(signal: string): boolean {
    this.signals.push(signal)
    if (signal === 'SIGKILL') setImmediate(() => this.emit('exit', null, 'SIGKILL'))
    return true
  }
}

function fakeChild(process = new FakeProcess()): { process: FakeProcess; child: Child; lines: Line[] } {
  const lines: Line[] = []
  const log = { error: (line: Line) => lines.push(line) } as unknown as Logger
  return { process, child: new Child(process as unknown as ChildProcess, log), lines }
}

t.test('a child whose message is late is killed and reported in the log once', async (t) => {
  const { process, child, lines } = fakeChild()
  const late = child.waitFor('loaded', 20)
  await t.rejects(late, { message: 'process 4711 was killed: it did not reach "loaded" within 20 ms' })
  t.strictSame(await child.ended, { code: null, signal: 'SIGKILL', during: 'starting', mayHaveRead: false })
  child.end('again')
  t.strictSame(process.signals, ['SIGKILL'])
  t.strictSame(lines, [{ child: 4711, reason: 'it did not reach "loaded" within 20 ms' }])
})

t.test('every wait on a child is rejected with the reason when the child exits', async (t) => {
  const { process, child } = fakeChild()
  child.send({ kind: 'open' })
  const waits: readonly Promise<unknown>[] = [
    child.waitFor('paused', 10_000),
    child.request({ command: 'listKeys' }, 10_000),
  ]
  process.emit('exit', null, 'SIGBUS')
  for (const wait of waits) {
    await t.rejects(wait, {
      message:
        "process 4711 was killed by SIGBUS; the store may be damaged (see topicd check), or its disk is full or failed (see the kernel's log)",
    })
  }
  await t.rejects(child.waitFor('paused', 10_000), /SIGBUS/, 'a later wait is also rejected')
  t.notOk(await child.requestMetrics(true, 10_000), 'a wait for metrics, which are optional, is resolved')
})

t.test('an exit before the store is opened is not reported as damage', async (t) => {
  const shortage = ': the system may be out of memory or threads, or a library may be missing'
  for (const [code, signal, said] of [
    [null, 'SIGABRT', `was killed by SIGABRT before it opened the store${shortage}`],
    [127, null, `exited with status 127 before it opened the store${shortage}`],
    // The code itself exits, for example because of a defect.
    [1, null, 'exited with status 1 before it opened the store'],
  ] as const) {
    const { process, child } = fakeChild()
    const loaded = child.waitFor('loaded', 10_000)
    process.emit('exit', code, signal)
    await t.rejects(loaded, { message: new RegExp(`^process 4711 ${said}$`) })
  }
})

t.test('a wait on a child is rejected with the reason that the child sent', async (t) => {
  const { process, child } = fakeChild()
  const opened = child.waitFor('opened', 10_000)
  process.report({ kind: 'failed', reason: 'the disk is on fire' })
  process.emit('exit', 21, null)
  await t.rejects(opened, { message: 'the disk is on fire' })
})

/** Creates workers that load keys on request. @returns also their processes, and a writer for each attempt at a request */
function fakeProcesses(workers: number, writers: number) {
  const loaded = Array.from({ length: workers }, (_, i) => fakeChild(new FakeProcess(i + 1)))
  for (const { process } of loaded)
    process.on('sent', (message: ToChild) => {
      if (message.kind === 'keysChanged') setImmediate(() => process.report({ kind: 'keysLoaded', id: message.id }))
    })
  const asked = Array.from({ length: writers }, (_, i) => fakeChild(new FakeProcess(workers + i + 1)))
  const keys = new ApiKeys({
    responder: () => asked.find(({ child }) => child.state !== 'ended')?.child,
    loaded: () => loaded.map(({ child }) => child),
  })
  return { keys, workers: loaded.map(({ process }) => process), writers: asked.map(({ process }) => process) }
}

/** Waits until the process has been sent a request about keys. @returns its id */
async function requested(process: FakeProcess): Promise<number> {
  for (;;) {
    const request = process.received.find(({ kind }) => kind === 'request')
    if (request?.kind === 'request') return request.id
    await once(process, 'sent')
  }
}

t.test('a request is repeated if the process that received it exits without a response', async (t) => {
  const record = {} as never
  const refused = { kind: 'noResponse', reason: 'the disk is full', nothingDone: true } as const
  for (const [request, again, expected] of [
    [
      { command: 'revokeKey', name: 'a' },
      { kind: 'response', response: false },
      { response: true, late: [] },
    ],
    [
      { command: 'revokeKey', name: 'a' },
      { kind: 'response', response: true },
      { response: true, late: [] },
    ],
    [{ command: 'listKeys' }, { kind: 'response', response: [] }, { response: [] }],
    // The first process may have added the key.
    [{ command: 'addKey', record }, refused, new Error('process 3 was killed by SIGKILL before it opened the store')],
  ] as const) {
    const { keys, workers, writers } = fakeProcesses(2, 2)
    const outcome = keys.request(request).catch((error: unknown) => error)
    const [first, second] = writers
    await requested(present(first))
    first?.emit('exit', null, 'SIGKILL')
    const id = await requested(present(second))
    for (const { received } of workers)
      t.notOk(
        received.some(({ kind }) => kind === 'keysChanged'),
        'a key that is being revoked stays suspended',
      )
    second?.report({ ...again, id })
    t.match(await outcome, expected)
  }
  const { keys, writers } = fakeProcesses(1, 1)
  const outcome = keys.request({ command: 'revokeKey', name: 'a' })
  writers[0]?.report({ kind: 'response', id: await requested(present(writers[0])), response: false })
  t.match(await outcome, { response: false }, 'a first response may report a missing key')
})

t.test('workers reject a key from the start to the end of its revocation', async (t) => {
  for (const answer of [
    { kind: 'response', response: true },
    { kind: 'noResponse', reason: 'the disk is full', nothingDone: true },
  ] as const) {
    const { keys, workers, writers } = fakeProcesses(2, 1)
    const outcome = keys.request({ command: 'revokeKey', name: 'a' }).catch((error: unknown) => error)
    for (const { received } of workers)
      t.match(received[0], { kind: 'suspendKey', name: 'a', revocation: 1 }, 'immediately')
    writers[0]?.report({ ...answer, id: await requested(present(writers[0])) })
    await outcome
    for (const { received } of workers) t.match(received.at(-1), { kind: 'keysChanged', revocation: 1 })
  }
  const { keys, workers, writers } = fakeProcesses(1, 1)
  const added = keys.request({ command: 'addKey', record: {} as never })
  writers[0]?.report({ kind: 'response', id: await requested(present(writers[0])), response: true })
  await added
  t.notOk(
    workers[0]?.received.some(({ kind }) => kind === 'suspendKey'),
    'no other change suspends a key',
  )
})

/** A process that loads its code and obeys every message. */
function obedient(pid: number): FakeProcess {
  const process = new FakeProcess(pid)
  setImmediate(() => process.report({ kind: 'loaded', version: '1' }))
  process.on('sent', ({ kind }: ToChild) => {
    if (kind === 'serve') setImmediate(() => process.report({ kind: 'serving' }))
  })
  return process
}

/** Forks processes, except the second and third time: the second fork throws, the third has no process. */
function fallibleFork(): { readonly fork: () => Child; readonly forked: FakeProcess[] } {
  const forked: FakeProcess[] = []
  const fork = (): Child => {
    const process =
      forked.length === 2 ? Object.assign(new FakeProcess(), { pid: undefined }) : obedient(forked.length + 1)
    forked.push(process)
    if (forked.length === 2) throw new Error('spawn ENOMEM')
    if (forked.length === 3) setImmediate(() => process.emit('error', new Error('spawn EAGAIN')))
    return fakeChild(process).child
  }
  return { fork, forked }
}

const quiet = { error() {}, warn() {}, info() {} } as unknown as Logger
const stubOpener = { open: async () => {}, openWriter: async () => {} } as unknown as StoreOpener
const start = { kind: 'start', config: { drainMs: 1000 }, port: 1 } as unknown as Start

t.test('a worker that cannot be started is not counted as a restart', async (t) => {
  const { fork, forked } = fallibleFork()
  const options = { opener: stubOpener, log: quiet, onOpened() {}, onGivingUp: (reason: string) => t.fail(reason) }
  const workers = new Workers({ ...options, fork })
  t.teardown(() => workers.kill())
  await workers.reach({ count: 1, start })
  t.equal(workers.restarts, 0)
  forked[0]?.emit('exit', null, 'SIGKILL')
  await until('the fourth serves', async () => workers.serving().some(({ process }) => process.pid === 4) || undefined)
  t.equal(forked.length, 4)
  t.equal(workers.restarts, 1)
})

t.test('a worker started during a revocation rejects the key before it serves', async (t) => {
  const forked: FakeProcess[] = []
  const workers = new Workers({
    opener: stubOpener,
    log: quiet,
    fork() {
      const process = obedient(forked.length + 1)
      forked.push(process)
      return fakeChild(process).child
    },
    onOpened: (worker) => keys.suspendIn(worker),
    onGivingUp: (reason) => t.fail(reason),
  })
  const writer = fakeChild(new FakeProcess(100))
  const keys = new ApiKeys({ responder: () => writer.child, loaded: () => workers.loaded() })
  t.teardown(() => workers.kill())
  await workers.reach({ count: 2, start })
  const revoked = keys.request({ command: 'revokeKey', name: 'a' })
  const id = await requested(writer.process)
  for (const process of forked) t.match(process.received[2], { kind: 'suspendKey', name: 'a' }, 'after start and serve')
  const replace = async (process: FakeProcess | undefined): Promise<readonly ToChild[]> => {
    const next = forked.length
    process?.emit('exit', null, 'SIGKILL')
    await until(
      'the next serves',
      async () => workers.serving().some(({ process }) => process === asOf(next)) || undefined,
    )
    return forked[next]?.received ?? []
  }
  const asOf = (index: number): unknown => forked[index]
  const during = await replace(forked[0])
  t.match(during, [{ kind: 'start' }, { kind: 'suspendKey', name: 'a' }, { kind: 'serve' }])
  for (const process of forked)
    process.on('sent', (message: ToChild) => {
      if (message.kind === 'keysChanged') setImmediate(() => process.report({ kind: 'keysLoaded', id: message.id }))
    })
  writer.process.report({ kind: 'response', id, response: true })
  t.strictSame(await revoked, { response: true, late: [] })
  const suspension = during.find(({ kind }) => kind === 'suspendKey') as { readonly revocation: number }
  t.match(during.at(-1), { kind: 'keysChanged', revocation: suspension.revocation }, 'the suspension also ends there')
  t.match(await replace(forked[1]), [{ kind: 'start' }, { kind: 'serve' }], 'a later worker suspends no key')
})

t.test('the exit of a child before its turn to open the store is reported', async (t) => {
  const opener = new StoreOpener()
  const [first, second] = [fakeChild(new FakeProcess(1)), fakeChild(new FakeProcess(2))]
  const firstOpened = opener.open(first.child)
  await once(first.process, 'sent')
  const secondOpened = opener.open(second.child)
  second.process.emit('exit', null, 'SIGKILL')
  await t.rejects(secondOpened, { message: 'process 2 exited before it could open the store' })
  t.strictSame(first.process.received, [{ kind: 'open' }], 'the first child has not opened the store yet')
  first.process.report({ kind: 'opened' })
  await firstOpened
  t.strictSame(second.process.received, [], 'the second child is sent nothing')
})
