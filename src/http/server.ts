/**
 * The edge to uWebSockets.js: the listener, connections, routes and pages, the drain. Only this folder imports the library,
 * and nothing here knows topics.
 *
 * A request's way: the headers are read in one pass → a framing that leaves a doubt, overload, authorization, content type
 * and length are judged before a byte of the body is kept (requests.ts) → the whole body goes to the route → its answer is
 * sent, at most once, and never after the client has gone (exchange.ts, sender.ts).
 *
 * Caveats of the library, each held by a test:
 * - A handler that returns without `onAborted` ends the process; after an abort, touching `res` throws.
 * - A chunk's bytes are gone when `onData` returns, so a body in one chunk is handled inside it, in place. One that comes
 *   later than its headers has an empty chunk before it.
 * - The parser goes on with what follows an answered request, even one whose answer closes the connection. Where the
 *   framing is in doubt, only closing before an answer helps: an empty header name hides the headers after it, and the first
 *   of two Content-Length headers wins. So a length of 0, which no request of ours has, ends the connection too.
 * - A second request that arrives while the first is being answered ends the connection.
 * - Chunk sizes are read carelessly (`g`, `G` and `@` are 16, an extension is taken for more digits), trailers for a next
 *   request; any transfer-encoding is taken for chunked. A Content-Length beside one is answered 400 by the library itself.
 * - Of expectations it meets `100-continue` alone, in just these letters; sender.ts says 100 for the others.
 * - `end` keeps whatever the client does not read, without bound, and says nothing of it. `tryEnd` keeps the head of one
 *   answer at most, leaves the rest to us and the request unanswered, so that a next one ends the connection; it costs half a
 *   microsecond more. Small answers go out by `end` and only one in a few, by chance, by `tryEnd`: who pipelines and never
 *   reads soon meets one. `tryEnd` cannot close in 20.51: unread.ts says how large answers end their connection.
 * - `end` that closes does so at once, and resets the connection when the client still sends; linger.ts waits for it.
 * - Only answers within the handler or `onData` are gathered into one write; later ones need `cork`, which one connection has
 *   at a time (exchange.ts).
 * - Nothing limits how long a request may wait for its answer: `answerMsMax` here does.
 * - `endWithoutBody` counts as no answer in 20.51, and a handler that gives none ends the process.
 * - Without a free descriptor it tries to accept without pause; so connections are closed before that.
 */
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import { answerMsMax } from '../limits.js'
import type { Asked, CloseCause, Page, Service } from './answer.js'
import { createBodies } from './body.js'
import { connectionsAllowed } from './connections.js'
import { createExchanges } from './exchange.js'
import { Requests } from './requests.js'
import { sendAnswer } from './sender.js'
import { createUnread } from './unread.js'

export interface HttpOptions {
  readonly host: string
  /** A real port: several processes share it, so nobody may pick one for himself. */
  readonly port: number
  readonly bodyBytesMax: number
  /** Of so many requests that are answered at once, one is timed; those that have to wait all are. */
  readonly timedOneIn: number
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
}

export interface HttpServer {
  /** Stops accepting, lets every request be answered with `Connection: close` and read, then closes what is idle. */
  drain(withinMs: number): Promise<void>
  /** Ends every connection, and the listening, at once. */
  close(): void
  /** Sockets that are open now. */
  readonly connections: () => number
  /** Requests that wait for their answer now. */
  readonly waiting: () => number
  /** Their bodies, and those that are still arriving, in bytes. */
  readonly bodyBytes: () => number
}

/**
 * Serves the routes and pages until drained.
 *
 * @throws Error when the port cannot be listened on, or the certificate and key cannot be used
 */
export async function startHttpServer<Caller extends object>(
  service: Service<Caller>,
  options: HttpOptions,
): Promise<HttpServer> {
  const app = createApp(options.tls)
  const connectionsMax = connectionsAllowed()
  let connections = 0
  let draining = false

  function closeSilently(res: HttpResponse, cause: CloseCause): void {
    service.closed(cause)
    res.close()
  }

  const unread = createUnread((res) => closeSilently(res, 'unread'))
  const exchanges = createExchanges(service, options.timedOneIn, (exchange, answer) =>
    sendAnswer(exchange, answer, exchange.closing || draining, unread),
  )
  const bodies = createBodies(exchanges.workingBytes)
  const requests = new Requests(service, exchanges, bodies, options.bodyBytesMax)

  app.filter((res, change) => {
    connections += Number(change)
    if (Number(change) > 0 && connections > connectionsMax) closeSilently(res, 'connections')
  })
  addRoutes(app, service, requests)
  const asked = (req: HttpRequest): Asked => ({
    draining,
    scheme: schemeOf(req, options.tls),
    host: req.getHeader('host'),
  })
  for (const page of service.pages) addPage(app, service, requests, page, asked)
  app.any('/*', (res, req) => requests.onOther(res, req, service.refusal('unknown_route')))

  const watch = setInterval(() => {
    const oldest = performance.now() - answerMsMax
    exchanges.expire(oldest)
    unread.cutOld(oldest)
  }, 1000)
  watch.unref()

  const listening = await listen(app, options)

  async function drain(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs
    draining = true
    uWS.us_listen_socket_close(listening)
    let idleSince = performance.now()
    while (connections > 0 && performance.now() < deadline) {
      if (exchanges.unanswered() + unread.count() > 0) idleSince = performance.now()
      else if (performance.now() - idleSince > idleMsBeforeClose) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    close()
  }

  function close(): void {
    clearInterval(watch)
    app.close()
  }

  return { drain, close, connections: () => connections, waiting: exchanges.working, bodyBytes: bodies.bytesHeld }
}

/** How long a drain waits for a next request on connections that have none in flight, so as to answer it and say goodbye. */
const idleMsBeforeClose = 500

function addRoutes<Caller extends object>(
  app: TemplatedApp,
  service: Service<Caller>,
  requests: Requests<Caller>,
): void {
  for (const route of service.routes) {
    app.post(route.path, (res, req) => requests.onRoute(route, res, req))
    app.any(route.path, (res, req) => requests.onOther(res, req, service.refusal('method_not_allowed', 'POST')))
  }
}

function addPage<Caller extends object>(
  app: TemplatedApp,
  service: Service<Caller>,
  requests: Requests<Caller>,
  page: Page,
  asked: (req: HttpRequest) => Asked,
): void {
  const onRead = (res: HttpResponse, req: HttpRequest): void => requests.onOther(res, req, page.read(asked(req)))
  app.get(page.path, onRead)
  app.head(page.path, onRead)
  app.any(page.path, (res, req) => requests.onOther(res, req, service.refusal('method_not_allowed', 'GET, HEAD')))
}

/** What a proxy in front says it was asked by, or what this server speaks. */
function schemeOf(req: HttpRequest, tls: HttpOptions['tls']): 'http' | 'https' {
  const forwarded = req.getHeader('x-forwarded-proto')
  if (forwarded === 'http' || forwarded === 'https') return forwarded
  return tls === undefined ? 'http' : 'https'
}

function createApp(tls: HttpOptions['tls']): TemplatedApp {
  if (tls === undefined) return uWS.App()
  return uWS.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile })
}

function listen(app: TemplatedApp, { host, port }: HttpOptions): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    app.listen(host, port, (socket) => {
      if (socket) resolve(socket)
      else reject(new Error(`cannot listen on ${host}:${port}`))
    })
  })
}
