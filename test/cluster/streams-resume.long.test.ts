/**
 * Hundreds of streams through a rolling restart and the deaths of workers and of the writer: each resumes where it ended, and misses
 * nothing.
 */
import t from 'tap'
import { ChangesStream, type Fold } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'

const streams = 200
const groups = 20

t.setTimeout(600_000)

/** Follows one subtree, and reopens its stream whenever that ends. */
class Follower {
  readonly ends: string[] = []
  #stream: ChangesStream | undefined
  #next: string | undefined
  readonly topics = new Map<string, unknown>()
  #isStopped = false

  constructor(
    private readonly server: Server,
    private readonly group: number,
  ) {}

  async run(): Promise<void> {
    while (!this.#isStopped) {
      const { url, token } = this.server
      try {
        const stream = await ChangesStream.open(
          { url, token, lastEventId: this.#next },
          { selector: `*g/${this.group}//` },
        )
        this.#stream = stream
        await until('the stream ends', async () => (stream.isEnded || this.#isStopped ? true : undefined), 200_000)
        this.#take(stream.fold)
        this.ends.push(stream.end?.code ?? 'broken')
        stream.close()
      } catch {
        // No worker listens at the moment.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  /** The current value of the topic. */
  get value(): unknown {
    const fold = this.#stream?.fold
    const path = `g/${this.group}/n`
    return fold?.topics.get(path)?.value ?? this.topics.get(path)
  }

  #take({ topics, next }: Fold): void {
    for (const [path, { value }] of topics) this.topics.set(path, value)
    this.#next = next ?? this.#next
  }
}

t.test('streams resume after a reload and after workers are killed', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const followers = Array.from({ length: streams }, (_, i) => new Follower(server, i % groups))
  const runs = followers.map((follower) => follower.run())
  let n = 0
  const seenByAll = async (what: string): Promise<void> => {
    n++
    for (let group = 0; group < groups; group++) {
      const body = { path: `g/${group}/n`, value: n }
      await until('the value is written', async () => {
        const answer = await server.post('addAndSet', body).catch(() => undefined)
        return answer?.status === 200 ? true : undefined
      })
    }
    await until(what, async () => (followers.every(({ value }) => value === n) ? true : undefined))
    t.pass(what)
  }
  const allOpen = async (): Promise<number> => (await scrape(server.adminUrl)).value('topicd_changes_streams')
  await until('all are open', async () => ((await allOpen()) === streams ? true : undefined))
  await seenByAll('every stream has the first change')
  server.signal('SIGHUP')
  await server.logged('rolling restart done')
  await seenByAll('every stream has a change after a rolling restart')
  t.equal(followers.filter(({ ends }) => ends[0] === 'draining').length, streams, 'each stream got its end reason')
  for (const pid of server.workerPids()) process.kill(pid, 'SIGKILL')
  await seenByAll('every stream has a change after its worker was killed')
  const writer = await until('the writer runs', async () => server.writerPid())
  process.kill(writer, 'SIGKILL')
  await seenByAll('every stream has a change after the writer was killed')
  for (const follower of followers) follower.stop()
  await Promise.all(runs)
})

t.test('the number of streams and polls is limited, and streams get heartbeats', async (t) => {
  const max = 3
  const server = await startServer(t, { flags: ['--changes-listeners-max', String(max)] })
  const { url, token } = server
  const open = () => ChangesStream.open({ url, token }, { path: 'a' })
  const all = [await open(), await open(), await open()]
  for (const stream of all) await stream.complete('the state')
  const refused = await open()
  t.equal(refused.response.statusCode, 503)
  t.equal(refused.response.headers['retry-after'], '1')
  all[0]?.close()
  await until('there is room', async () => {
    const stream = await open()
    if (stream.response.statusCode === 200) all.push(stream)
    return stream.response.statusCode === 200 ? true : undefined
  })
  const polls = Array.from({ length: max }, () =>
    server.connect().post('changes', { path: 'a', since: 'now', wait: 20 }),
  )
  await until('all wait', async () =>
    (await scrape(server.adminUrl)).value('topicd_changes_polls') === max ? true : undefined,
  )
  t.equal((await server.post('changes', { path: 'a', since: 'now', wait: 20 })).status, 503)
  t.equal(
    (await server.post('changes', { path: 'a', since: 'now' })).status,
    200,
    'a poll that does not wait needs no room',
  )
  const events = all[1]?.events.length ?? 0
  await until('a heartbeat arrives', async () => ((all[1]?.events.length ?? 0) > events ? true : undefined))
  t.strictSame(all[1]?.pages.at(-1)?.results, [])
  for (const { status } of await Promise.all(polls)) t.equal(status, 200)
  for (const stream of all) stream.close()
})
