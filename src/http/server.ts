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
 * - The parser goes on with what follows an answered request. Where the framing is in doubt, only closing helps: an empty
 *   header name hides the headers after it, and the first of two Content-Length headers wins.
 * - A second request that arrives while the first is being answered ends the connection.
 * - Only answers within the handler or `onData` are gathered into one write; later ones need `cork`, or cost ten times more.
 * - Nothing limits how long a request may wait for its answer: `answerMsMax` here does.
 */
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import { answerMsMax, bodyBytesWaitingMax, connectionsMax, requestsWaitingMax } from '../limits.js'
import type { Answer, Refusal, Route, Service } from './answer.js'

export interface HttpOptions {
  readonly host: string
  /** A real port: several processes share it, so nobody may pick one for himself. */
  readonly port: number
  readonly bodyBytesMax: number
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
}

export interface HttpServer {
  /** Stops accepting, lets every request be answered with `Connection: close`, then closes what is idle. */
  drain(withinMs: number): Promise<void>
  /** Sockets that are open now. */
  readonly connections: () => number
  /** Requests that wait for their answer now. */
  readonly waiting: () => number
}

/** One request from its headers to its answer. */
interface Exchange<Caller> {
  readonly res: HttpResponse
  readonly route: Route<Caller>
  readonly startMs: number
  readonly bytesIn: number
  /** Set when the client has gone or the answer has been sent: `res` must not be touched again. */
  done: boolean
  cancelled: boolean
}

/** What one pass over the headers of a request finds. Reused: headers are read and judged in one go. */
const seen = { authorization: '', contentType: '', contentLength: '', contentLengths: 0, transferEncoding: false }

function see(name: string, value: string): void {
  switch (name) {
    case 'authorization':
      seen.authorization = value
      break
    case 'content-type':
      seen.contentType = value
      break
    case 'content-length':
      seen.contentLength = value
      seen.contentLengths++
      break
    case 'transfer-encoding':
      seen.transferEncoding = true
      break
  }
}

function readHeaders(req: HttpRequest): void {
  seen.authorization = seen.contentType = seen.contentLength = ''
  seen.contentLengths = 0
  seen.transferEncoding = false
  req.forEach(see)
}

const digits = /^\d{1,15}$/
const json = /^application\/json[ \t]*(;|$)/i

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
  const { bodyBytesMax, tls } = options
  const app = createApp(tls)
  const waiting = new Set<Exchange<Caller>>()
  let connections = 0
  let bodyBytesWaiting = 0
  let draining = false

  app.filter((_res, change) => {
    connections += Number(change)
  })

  function send(res: HttpResponse, { status, body, headers, close = false }: Answer): void {
    if (status !== 200) res.writeStatus(statusLines[status])
    res.writeHeader('content-type', 'application/json')
    if (headers !== undefined) for (const [name, value] of headers) res.writeHeader(name, value)
    res.end(body, close || draining)
  }

  function finish(exchange: Exchange<Caller>, answer: Answer): void {
    if (exchange.done) return
    exchange.done = true
    send(exchange.res, answer)
    const bytesOut = answer.body.length
    service.answered(exchange.route.path, answer.status, exchange.bytesIn, bytesOut, exchange.startMs)
  }

  function finishLater(exchange: Exchange<Caller>, answer: Answer | undefined): void {
    waiting.delete(exchange)
    if (exchange.done || answer === undefined) return
    exchange.res.cork(() => finish(exchange, answer))
  }

  function handle(exchange: Exchange<Caller>, caller: Caller, body: Uint8Array): void {
    let answer: Answer | Promise<Answer> | undefined
    try {
      answer = exchange.route.handle(body, caller, exchange)
    } catch (error) {
      answer = service.failed(error)
    }
    if (!(answer instanceof Promise)) {
      if (answer !== undefined) finish(exchange, answer)
      return
    }
    waiting.add(exchange)
    answer.then(
      (known) => finishLater(exchange, known),
      (error: unknown) => finishLater(exchange, service.failed(error)),
    )
  }

  function refuse(exchange: Exchange<Caller>, refusal: Refusal): void {
    finish(exchange, service.refusals[refusal])
  }

  function receive(exchange: Exchange<Caller>, caller: Caller): void {
    const { res, bytesIn } = exchange
    let kept: Buffer | undefined
    let keptBytes = 0
    res.onAborted(() => {
      exchange.done = exchange.cancelled = true
      waiting.delete(exchange)
      if (kept !== undefined) bodyBytesWaiting -= bytesIn
      kept = undefined
    })
    res.onData((chunk, isLast) => {
      if (exchange.done) return
      if (isLast && kept === undefined) return handle(exchange, caller, new Uint8Array(chunk))
      if (kept === undefined) {
        if (bodyBytesWaiting + bytesIn > bodyBytesWaitingMax) return refuse(exchange, 'overloaded')
        kept = Buffer.allocUnsafeSlow(bytesIn)
        bodyBytesWaiting += bytesIn
      }
      kept.set(new Uint8Array(chunk), keptBytes)
      keptBytes += chunk.byteLength
      if (!isLast) return
      const body = kept
      kept = undefined
      bodyBytesWaiting -= bytesIn
      handle(exchange, caller, body)
    })
  }

  function onRequest(route: Route<Caller>, res: HttpResponse, req: HttpRequest): void {
    readHeaders(req)
    if (seen.transferEncoding || seen.contentLengths !== 1 || !digits.test(seen.contentLength)) {
      service.closed('framing')
      res.close()
      return
    }
    const bytesIn = Number(seen.contentLength)
    const exchange = { res, route, bytesIn, startMs: performance.now(), done: false, cancelled: false }
    if (connections > connectionsMax || waiting.size >= requestsWaitingMax) return refuse(exchange, 'overloaded')
    const caller = service.admit(seen.authorization)
    if (caller === undefined) return refuse(exchange, 'unauthorized')
    if (!json.test(seen.contentType)) return refuse(exchange, 'unsupported_media_type')
    if (bytesIn > bodyBytesMax) return refuse(exchange, 'body_too_large')
    receive(exchange, caller)
  }

  for (const route of service.routes) {
    app.post(route.path, (res, req) => onRequest(route, res, req))
    app.any(route.path, (res, req) => refuseOther(res, req, 'method_not_allowed'))
  }
  app.any('/*', (res, req) => refuseOther(res, req, 'unknown_route'))

  /** A request that no handler of ours will read a body for: what follows it on the connection is not trusted. */
  function refuseOther(res: HttpResponse, req: HttpRequest, refusal: Refusal): void {
    if (req.getHeader('transfer-encoding') !== '') {
      service.closed('framing')
      res.close()
      return
    }
    const refused = service.refusals[refusal]
    // Not endWithoutBody: in 20.51 it counts as no answer, and a handler that gives none ends the process.
    const answer = { ...refused, body: req.getMethod() === 'head' ? '' : refused.body, close: true }
    send(res, answer)
    service.answered('other', answer.status, 0, answer.body.length, performance.now())
  }

  const watch = setInterval(() => {
    const oldest = performance.now() - answerMsMax
    for (const exchange of waiting) {
      if (exchange.startMs > oldest) break
      exchange.cancelled = true
      finishLater(exchange, service.refusals.timed_out)
    }
  }, 1000)
  watch.unref()

  const listening = await listen(app, options)

  async function drain(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs
    draining = true
    uWS.us_listen_socket_close(listening)
    let idleSince = performance.now()
    while (connections > 0 && performance.now() < deadline) {
      if (waiting.size > 0) idleSince = performance.now()
      else if (performance.now() - idleSince > idleMsBeforeClose) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    clearInterval(watch)
    app.close()
  }

  return { drain, connections: () => connections, waiting: () => waiting.size }
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
