/**
 * The edge to uWebSockets.js: connections, headers, bounded bodies, and one guarded answer a request. Nothing else imports
 * the library, and nothing here knows topics.
 *
 * A request's way: the headers are read in one pass → framing signs that smugglers use end the connection without an
 * answer → overload, authorization, content type and length are judged before a byte of the body is kept → the whole body
 * goes to the route → its answer is sent, at most once, and never after the client has gone.
 *
 * Caveats of the library, each held by a test:
 * - A handler that returns without `onAborted` ends the process; after an abort, touching `res` throws.
 * - A chunk's bytes are gone when `onData` returns, so a body in one chunk is handled inside it, in place.
 * - The parser goes on with what follows an answered request, even one whose answer closes the connection. Where the
 *   framing is in doubt, only closing helps: an empty header name hides the headers after it, and the first of two
 *   Content-Length headers wins. So a length of 0, which no request of ours has, ends the connection too.
 * - A second request that arrives while the first is being answered ends the connection.
 * - `end` keeps whatever the client does not read, without bound. `tryEnd` keeps the head of one answer at most, leaves the
 *   rest to us and the request unanswered, so that a next one ends the connection; it costs half a microsecond more. Small
 *   answers go out by `end` and only one in a few, by chance, by `tryEnd`: who pipelines and never reads soon meets one.
 * - Only answers within the handler or `onData` are gathered into one write; later ones need `cork`, which one connection has
 *   at a time (exchange.ts).
 * - Nothing limits how long a request may wait for its answer: `answerMsMax` here does.
 * - `endWithoutBody` counts as no answer in 20.51, and a handler that gives none ends the process.
 * - Without a free descriptor it tries to accept without pause; so connections are closed before that.
 */
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import { answerBytesSmallMax, answerMsMax, answersPerProbe, bodyBytesDroppedMax, requestsWaitingMax } from '../limits.js'
import type { Answer, CloseCause, Refusal, Route, Service } from './answer.js'
import { createBodies } from './body.js'
import { connectionsAllowed } from './connections.js'
import { createExchanges, type Exchange } from './exchange.js'
import { isFramingSound, isJson, readHeaders, seen } from './headers.js'
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
  /** Stops accepting, lets every request be answered with `Connection: close`, then closes what is idle. */
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

/** As bytes: the library copies them as they are, while a string is converted anew for every answer. */
const contentTypeName = Buffer.from('content-type')
const contentTypeJson = Buffer.from('application/json')

const statusLines: Readonly<Record<number, string>> = {
  200: '200 OK',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
  507: '507 Insufficient Storage',
}

/**
 * Serves the routes until drained.
 *
 * @throws Error when the port can not be listened on, or the certificate and key can not be used
 */
export async function startHttpServer<Caller extends object>(
  service: Service<Caller>,
  options: HttpOptions,
): Promise<HttpServer> {
  const { bodyBytesMax, timedOneIn, tls } = options
  const app = createApp(tls)
  const connectionsMax = connectionsAllowed()
  const exchanges = createExchanges(service, timedOneIn, send)
  const bodies = createBodies(exchanges.workingBytes)
  let connections = 0
  let draining = false

  app.filter((res, change) => {
    connections += Number(change)
    if (Number(change) > 0 && connections > connectionsMax) cut(res, 'connections')
  })

  /** Ends a connection without a word. */
  function cut(res: HttpResponse, cause: CloseCause): void {
    service.closed(cause)
    res.close()
  }

  const unread = createUnread((res) => cut(res, 'unread'))

  function send(res: HttpResponse, { status, body, headers, close = false }: Answer): void {
    if (status !== 200) res.writeStatus(statusLines[status])
    res.writeHeader(contentTypeName, contentTypeJson)
    if (headers !== undefined) for (const [name, value] of headers) res.writeHeader(name, value)
    if (close || draining) res.end(body, true)
    else if (body.length <= answerBytesSmallMax && Math.random() > 1 / answersPerProbe) res.end(body)
    else if (!res.tryEnd(body, 0)[0]) unread.keep(res, typeof body === 'string' ? Buffer.from(body) : body)
  }

  function handle(exchange: Exchange<Caller>, route: Route<Caller>, caller: Caller, body: Buffer): void {
    let answer: Answer | Promise<Answer> | undefined
    try {
      answer = route.handle(body, caller, exchange)
    } catch (error) {
      answer = service.failed(error)
    }
    if (answer instanceof Promise) exchanges.finishWhenKnown(exchange, answer)
    else if (answer !== undefined) exchanges.finish(exchange, answer)
  }

  /**
   * Refuses a request. What comes of its body is dropped: most clients do not look for an answer before they have sent
   * everything, and would see nothing but a broken connection. Only an endless body ends it.
   */
  function refuse(exchange: Exchange<Caller>, refusal: Refusal): void {
    if (exchange.bytesIn > bodyBytesMax + bodyBytesDroppedMax) part(exchange, service.refusals[refusal])
    else exchanges.finish(exchange, service.refusals[refusal])
  }

  /**
   * Refuses a request and ends its connection, once the parser has let go of what came: a request that follows in the same
   * bytes meets an unanswered one, and is not carried out.
   */
  function part(exchange: Exchange<Caller>, answer: Answer): void {
    exchange.res.onAborted(() => exchanges.abort(exchange))
    exchanges.finishLater(exchange, { ...answer, close: true })
  }

  function receive(exchange: Exchange<Caller>, route: Route<Caller>, caller: Caller): void {
    const { res } = exchange
    res.onAborted(() => {
      exchanges.abort(exchange)
      bodies.letGo(exchange)
    })
    res.onData((chunk, isLast) => {
      if (exchange.done) return
      if (isLast && exchange.kept === undefined) return handle(exchange, route, caller, Buffer.from(chunk))
      const body = bodies.add(exchange, chunk)
      if (body === undefined) return refuse(exchange, 'overloaded')
      if (!isLast) return
      bodies.letGo(exchange)
      handle(exchange, route, caller, body)
    })
  }

  function onRequest(route: Route<Caller>, res: HttpResponse, req: HttpRequest): void {
    readHeaders(req)
    if (!isFramingSound(true)) return cut(res, 'framing')
    const bytesIn = Number(seen.contentLength)
    const exchange = exchanges.open(res, route, bytesIn)
    if (exchanges.working() >= requestsWaitingMax) return refuse(exchange, 'overloaded')
    const caller = service.admit(seen.authorization)
    if (caller === undefined) return refuse(exchange, 'unauthorized')
    exchange.caller = caller
    if (!isJson()) return refuse(exchange, 'unsupported_media_type')
    if (bytesIn > bodyBytesMax) return refuse(exchange, 'body_too_large')
    if (bodies.isTooMuch(bytesIn)) return refuse(exchange, 'overloaded')
    if (bytesIn === 0) return part(exchange, service.refusals.empty_body)
    receive(exchange, route, caller)
  }

  for (const route of service.routes) {
    app.post(route.path, (res, req) => onRequest(route, res, req))
    app.any(route.path, (res, req) => refuseOther(res, req, 'method_not_allowed'))
  }
  app.any('/*', (res, req) => refuseOther(res, req, 'unknown_route'))

  /**
   * A request to no route of ours, or with another method: nobody here reads its body, so nothing that follows it on the
   * connection is carried out.
   */
  function refuseOther(res: HttpResponse, req: HttpRequest, refusal: Refusal): void {
    readHeaders(req)
    if (!isFramingSound(false)) return cut(res, 'framing')
    const refused = service.refusals[refusal]
    const body = req.getMethod() === 'head' ? '' : refused.body
    const exchange = exchanges.open(res, undefined, Number(seen.contentLength))
    part(exchange, { ...refused, body })
  }

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

/** How long a drain waits for a next request on connections that have none under way, so as to answer it and say goodbye. */
const idleMsBeforeClose = 500

function createApp(tls: HttpOptions['tls']): TemplatedApp {
  if (tls === undefined) return uWS.App()
  return uWS.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile })
}

function listen(app: TemplatedApp, { host, port }: HttpOptions): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    app.listen(host, port, (socket) => {
      if (socket) resolve(socket)
      else reject(new Error(`can not listen on ${host}:${port}`))
    })
  })
}
