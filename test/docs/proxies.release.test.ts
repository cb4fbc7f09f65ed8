/**
 * The proxy configurations of docs/proxies.md, run with Debian's nginx, HAProxy and Caddy. Every page and every line of an upload passes,
 * no request fails while workers are replaced, and the effects of a worker's death on clients are as documented. The test counts requests,
 * not seconds.
 */
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import {
  type ProxyName,
  proxyMissing,
  proxyNames,
  type RunningProxy,
  readinessBlock,
  startProxy,
} from '../support/machines/proxies.js'
import { ChangesStream } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { send } from '../support/service/sender.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { refusedUpload, type UploadLine, UploadRequest } from '../support/service/upload.js'

/** Enough clients that the kernel spreads the proxy's connections over both workers. */
const clients = 16

const workers = 2

/** Time limit to detect hangs: a reload under load takes seconds on a busy machine. */
const hangMs = 300_000

/**
 * Whether the kernel passes connections that a closed listener had not accepted to other workers, as the packages configure it. Otherwise
 * it resets some of them during a reload.
 */
const migrates = readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim() === '1'

/** Half of the clients read the topics that the others write. */
const routeOf = (client: number): 'fetch' | 'addAndSet' => (client % 2 === 0 ? 'addAndSet' : 'fetch')

/** Clients that send one request at a time, each over its own kept-alive connection. Nothing is retried. */
class Load {
  answered = 0
  /** Each response other than a 200, and each broken connection. */
  readonly failures: string[] = []
  readonly #clients: Promise<void>[]
  #stopped = false

  constructor(
    private readonly proxy: RunningProxy,
    private readonly token: string,
  ) {
    this.#clients = Array.from({ length: clients }, (_, client) => this.#run(client))
  }

  /** Resolves after this many further responses. */
  async further(answers: number): Promise<void> {
    const wanted = this.answered + answers
    await until(`${answers} responses arrive`, async () => this.answered >= wanted || undefined)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
  }

  async #run(client: number): Promise<void> {
    const route = routeOf(client)
    const agent = this.proxy.agent()
    for (let turn = 0; !this.#stopped; turn++) {
      const body = { path: `load/${client >> 1}`, ...(route === 'addAndSet' ? { value: turn } : {}) }
      try {
        const { status, text } = await send(agent, `${this.proxy.url}/topics/${route}`, this.token, body)
        if (status !== 200) this.failures.push(`${route}: ${status}: ${text}`)
      } catch (error) {
        this.failures.push(`${route}: ${(error as NodeJS.ErrnoException).code}`)
      }
      this.answered++
    }
    agent.destroy()
  }
}

/**
 * The documented behaviour of each proxy: the effect on a client if the worker that has its request dies; the statuses for a body beyond
 * the limit, where Caddy's own response competes with the service's early one; and whether the response to an upload can be read while its
 * body is being sent.
 */
const documented: Readonly<Record<ProxyName, { afterLoss: RegExp; tooLarge: number[]; passesProgress: boolean }>> = {
  nginx: { afterLoss: /^addAndSet: 502: <html>/, tooLarge: [413], passesProgress: true },
  haproxy: { afterLoss: /^addAndSet: (502: <html>|ECONNRESET$)/, tooLarge: [413], passesProgress: true },
  caddy: { afterLoss: /^(addAndSet|fetch): 502: $/, tooLarge: [413, 502], passesProgress: false },
}

/** Lines of an upload: more than 4 MiB, so that its response starts early even if its length is announced. */
const lineCount = 2400
const filling = 'x'.repeat(2000)

/** Number of writes during which the service would have executed a received part of an upload. */
const writesPerPart = 50

/** Every second line is rejected: enough rejections that no proxy can buffer them all until the end. */
function linesFrom(below: string, from: number, to: number): string {
  const line = (i: number): string =>
    `{"op":"${i % 2 === 1 ? 'set' : 'addAndSet'}","path":"uploads/${below}/${i}","value":"${filling}"}\n`
  return Array.from({ length: to - from }, (_, i) => line(from + i)).join('')
}

/**
 * Uploads half of the lines, then one, then the others, each part after the service has executed the parts before it. The single line makes
 * a proxy written in Go start the response.
 */
async function uploadInParts(server: Server, proxy: RunningProxy, showsProgress: boolean, isChunked: boolean) {
  const partTo = [0, lineCount / 2, lineCount / 2 + 1, lineCount]
  const below = isChunked ? 'chunked' : 'length'
  const parts = partTo.slice(1).map((to, i) => linesFrom(below, partTo[i] ?? 0, to))
  const bytes = parts.join('').length
  const target = { url: proxy.url, token: server.token, agent: proxy.agent(), showsProgress }
  const request = new UploadRequest(target, isChunked ? undefined : bytes)
  for (const part of parts.slice(0, -1)) {
    await request.write(part)
    if (showsProgress) await until('progress is reported', async () => request.last ?? request.error)
    for (let i = 0; i < writesPerPart; i++) await server.post('addAndSet', { path: 'other', value: i })
  }
  const lines = await request.end(parts.at(-1))
  return { bytes, end: showsProgress ? lines.at(-1) : request.refusal }
}

/** Reloads during an upload that continues until the reload ends it. @returns its last line */
async function reloadDuringUpload(server: Server, proxy: RunningProxy): Promise<UploadLine | undefined> {
  const request = new UploadRequest({ url: proxy.url, token: server.token, agent: proxy.agent() })
  const hasEnded = async (): Promise<true | undefined> => request.isComplete || request.error !== undefined || undefined
  await request.write(linesFrom('drained', 0, 1000))
  await until('progress is reported', async () => request.last ?? request.error)
  const reload = server.command('reload')
  for (let at = 1000; !(await hasEnded()); at += 1000)
    await Promise.race([request.write(linesFrom('drained', at, at + 1000)), until('the upload ends', hasEnded)])
  const { code, stderr } = await reload
  assert.equal(code, 0, stderr)
  return (await request.end()).at(-1)
}

/** Runs a load before, during and after an action. */
async function underLoad(proxy: RunningProxy, token: string, happens: () => unknown): Promise<Load> {
  const load = new Load(proxy, token)
  await load.further(20 * clients)
  await happens()
  await load.further(50 * clients)
  await load.stop()
  return load
}

/** Maximum number of kills until one hits a worker with requests. */
const killsMax = 20

/** Kills a worker that most likely has unfinished requests. */
async function killUnderLoad(server: Server, proxy: RunningProxy): Promise<Load> {
  await until('both workers serve', async () => (await metric(server, 'topicd_ready')) === 1 || undefined)
  return underLoad(proxy, server.token, () => process.kill(server.workerPids()[0] ?? 0, 'SIGKILL'))
}

const metric = async ({ adminUrl }: Server, name: string): Promise<number> => (await scrape(adminUrl)).value(name)

for (const name of proxyNames) {
  const { afterLoss, tooLarge, passesProgress } = documented[name]
  const options = { skip: proxyMissing(name), timeout: hangMs }

  // A smoke test in the long half uses this name (support/test-files.ts).
  await t.test(`${name} passes on pages, bodies, uploads and streams`, options, async (t) => {
    const server = await startServer(t)
    const proxy = await startProxy(t, name, server)
    const { url } = proxy

    await t.test('every page passes the proxy, and is compressed if the client accepts gzip', async (t) => {
      t.equal((await proxy.page('/healthz')).body.toString(), '{"status":"serving"}')
      t.equal((await proxy.page('/console')).status, 200)
      const { headers, body } = await proxy.page('/openapi.json', { 'accept-encoding': 'gzip' })
      t.equal(headers['content-encoding'], 'gzip')
      const { servers } = JSON.parse(gunzipSync(body).toString()) as { servers: { url: string }[] }
      t.equal(servers[0]?.url, url, 'the description names the address of the proxy')
    })

    await t.test('a body of the maximum size passes the proxy, and a larger body does not', async (t) => {
      const sends = async (value: string): Promise<number> =>
        (await send(proxy.agent(), `${url}/topics/addAndSet`, server.token, { path: 'large', value })).status
      const value = 'x'.repeat(1_048_576 - JSON.stringify({ path: 'large', value: '' }).length)
      t.equal(await sends(value), 200)
      const status = await sends(`${value}x`)
      t.ok(tooLarge.includes(status), `the status is ${status}`)
    })

    for (const isChunked of [true, false]) {
      await t.test(`an upload passes the proxy ${isChunked ? 'in chunks' : 'with a length'}`, async (t) => {
        const { bytes, end } = await uploadInParts(server, proxy, passesProgress, isChunked)
        t.match(end, { durable: lineCount / 2, refused: lineCount / 2 })
        t.match(end, passesProgress ? { done: true } : { status: 400, code: 'upload_refused' })
        t.ok(bytes > 4 * 1_048_576, 'the upload is larger than the limit of other bodies')
      })
    }

    await t.test('a stream passes the proxy event by event, and a poll waits for a change', async (t) => {
      const stream = await ChangesStream.open({ url, token: server.token, agent: proxy.agent() }, { selector: '*s//' })
      t.equal(
        stream.response.headers['content-encoding'],
        undefined,
        'the proxy does not buffer the stream to compress it',
      )
      await stream.complete('the state')
      for (let i = 0; i < 5; i++) {
        await server.post('addAndSet', { path: 's/1', value: i })
        await stream.complete(`the change ${i}`, ({ topics }) => topics.get('s/1')?.value === i)
      }
      stream.close()
      const body = { path: 's/1', since: 'now', wait: 30 }
      const poll = send(proxy.agent(), `${url}/topics/changes`, server.token, body)
      await until('the poll waits', async () => (await metric(server, 'topicd_changes_polls')) > 0 || undefined)
      await server.post('addAndSet', { path: 's/1', value: 'news' })
      t.match((await poll).text, '"value":"news"')
    })
  })

  await t.test(`replacing workers behind ${name} has the documented effects`, options, async (t) => {
    const server = await startServer(t, { workers })
    for (let pair = 0; pair < clients / 2; pair++) await server.post('addAndSet', { path: `load/${pair}`, value: 0 })
    const proxy = await startProxy(t, name, server)

    // Caddy loses lines of an upload whose client asks for progress, as documented.
    if (passesProgress) {
      await t.test('a drain ends an upload with a response that has the reason and the counts', async (t) => {
        const { code, durable = 0, refused = 0 } = (await reloadDuringUpload(server, proxy)) ?? {}
        t.equal(code, 'draining')
        const done = durable + refused
        const to = { ...server, url: proxy.url, agent: proxy.agent() }
        const rest = await refusedUpload(to, linesFrom('drained', done, done + 500))
        t.match(rest, { code: 'upload_refused', durable: 250, refused: 250 }, 'the upload resumes from the counts')
        const { text } = await server.post('fetch', { selector: '*uploads/drained//', count: true })
        t.equal(text, `{"count":${durable + 250}}`, 'no line is missing')
      })
    }

    await t.test('no request fails while workers are replaced', { timeout: hangMs }, async (t) => {
      const { answered, failures } = await underLoad(proxy, server.token, async () => {
        const { code, stderr } = await server.command('reload')
        t.equal(code, 0, stderr)
      })
      t.comment(`${answered} requests`)
      if (migrates) {
        t.strictSame(failures, [])
        return
      }
      t.comment('tcp_migrate_req is 0: that no request fails was NOT tested')
      t.ok(failures.length <= clients * workers, 'each client lost at most one request per replaced worker')
      for (const failure of failures) t.match(failure, afterLoss)
    })

    await t.test('requests to a killed worker fail in the documented way', { timeout: hangMs }, async (t) => {
      let { answered, failures } = await killUnderLoad(server, proxy)
      for (let kills = 1; failures.length === 0 && kills < killsMax; kills++)
        ({ answered, failures } = await killUnderLoad(server, proxy))
      t.comment(`${answered} requests, ${failures.length} failed, as ${failures[0]}`)
      t.ok(failures.length > 0, 'the killed worker had requests')
      t.ok(failures.length <= clients, 'each client lost at most one request')
      for (const failure of failures) t.match(failure, afterLoss)
    })
  })
}

const skip = proxyMissing('haproxy')
await t.test('haproxy with the readiness check returns 503 until the service is ready', { skip }, async (t) => {
  const server = await startServer(t)
  let ready = true
  const admin = createServer((socket) => {
    socket.on('error', () => {})
    if (!ready) return socket.end('HTTP/1.0 503 Service Unavailable\r\n\r\n')
    return socket.pipe(connect(Number(new URL(server.adminUrl).port), '127.0.0.1').on('error', () => {})).pipe(socket)
  }).listen(0, '127.0.0.1')
  t.teardown(() => admin.close())
  await until('the admin listener listens', async () => admin.address() ?? undefined)
  const adminUrl = `http://127.0.0.1:${(admin.address() as AddressInfo).port}`
  const proxy = await startProxy(t, 'haproxy', { port: server.port, adminUrl }, readinessBlock())
  // HAProxy considers a server usable until checks have failed.
  for (const [isReady, status] of [
    [false, 503],
    [true, 200],
  ] as const) {
    ready = isReady
    await until(
      `the proxy returns ${status}`,
      async () => (await proxy.page('/healthz')).status === status || undefined,
    )
    t.pass(`${status} while the service is ${isReady ? '' : 'not '}ready`)
  }
})
