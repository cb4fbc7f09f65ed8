/**
 * The edge to uWebSockets.js: the listener, connections, routes and pages, the drain. Only this folder imports the
 * library, and nothing here depends on topics.
 *
 * The path of a request, in which each file calls only later ones: its headers are read in one pass, and framing,
 * overload, authorization, content type and length are checked before any of the body is kept (requests.ts) → the whole
 * body goes to the route → the exchange is answered at most once, and never after the client has gone (exchange.ts) →
 * the answer is sent (head.ts, response.ts), its unread rest kept within a bound (unread.ts), and its connection closed
 * if it ends with it (closing.ts).
 *
 * Caveats of the library, each pinned by a test:
 * - A handler that returns without `onAborted` ends the process; after an abort, touching `res` throws.
 * - A chunk's bytes are invalid when `onData` returns, so a body in one chunk is handled inside it, in place. A body
 *   that arrives later than its headers has an empty chunk before it.
 * - Bytes behind a request that begin none end the connection once the handlers of that request have returned. The library
 *   writes a 400, 431 or 505 straight to the socket and closes it, so that an answer that is corked is lost. Nothing that
 *   a handler can call sends it earlier or stops the parser. So a write is handled after the parser has returned
 *   (requests.ts). To pause its connection until the answer would cost a quarter of its CPU time.
 * - It takes these for the beginning of the next request: an empty line, which then never ends; and up to three bytes, or
 *   ASCII without a space, which become a part of its method.
 * - A target with a host, and `*`, get the 505 of HTTP/1.0. The service sees nothing of any of these answers.
 * - A `connection` of five bytes in the first of its lines is "close"; it knows no lists (headers.ts).
 * - It reads the bound of a head from the environment as it is loaded, so the primary sets that (cluster/primary/).
 * - The parser continues with the bytes after an answered request, even when the answer closes the connection. Where
 *   the framing is ambiguous, the answer must wait until the parser has returned (requests.ts): an empty header name
 *   hides the headers after it, and the first of two Content-Length headers wins. So a length of 0, which of our valid
 *   requests only an upload of no lines has, ends the connection too.
 * - A second request that arrives while the first is unanswered ends the connection.
 * - Chunk sizes are parsed carelessly (`g`, `G` and `@` are 16, an extension is read as more digits), trailers as a
 *   next request, and any transfer-encoding as chunked. A Content-Length beside a Transfer-Encoding is answered 400 by
 *   the library itself.
 * - The only expectation it handles is `100-continue`, in lower case; head.ts sends 100 for other spellings.
 * - `end` buffers unread output without limit, and does not report it. `tryEnd` buffers at most the head of one answer
 *   and returns the rest to us, for 0.5 µs more; the request stays unanswered, so that a further one ends the
 *   connection. Small answers use `end`, except a random one in `answersPerProbe`, so that a client that pipelines
 *   without reading is soon found. `tryEnd` cannot close in 20.51; closing.ts says how large answers end their
 *   connection.
 * - `end` with close closes at once, and resets the connection if the client is still sending; closing.ts waits for the
 *   client.
 * - A socket that is closed in an immediate is never freed: the library frees it in its next turn, by which time libuv
 *   has already closed its handle, and then loses both, 465 bytes. So connections are closed from timers or while the
 *   library handles what a poll brought, and an answer that is sent from an immediate is never complete for the library
 *   if the connection ends with it (closing.ts).
 * - Only answers within the handler or `onData` are corked by the library; later ones need `cork`, whose one buffer
 *   serves one connection at a time (exchange.ts).
 * - It does not limit how long a request may wait for its answer; `answerMsMax` does.
 * - What completes an answer differs between 20.51 and 20.69, whose binaries are for other versions of Node.js:
 *   `endWithoutBody` does only in the later one, as does `tryEnd` without any bytes. Neither is used (head.ts).
 * - Without a free descriptor it retries accept in a busy loop, so connections are closed before that happens.
 */
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type us_listen_socket } from 'uWebSockets.js'
import type { Answer, AnswerRoom, Page, PageRequest, Route, Service } from './answer.js'
import { Bodies } from './body.js'
import { Closing } from './closing.js'
import { connectionsAllowed } from './connections.js'
import { Cors } from './cors.js'
import { Exchanges } from './exchange.js'
import { Requests } from './requests.js'
import { Responses } from './response.js'
import { isCrossOrigin } from './same-origin.js'
import { type UploadStats, Uploads } from './uploads.js'

/** How long a request may wait for its answer: longer than any client waits, but not forever. */
const answerMsMax = 120_000

interface HttpOptions {
  readonly host: string
  /** A real port, never 0: several processes share it, so no process may choose its own. */
  readonly port: number
  readonly bodyBytesMax: number
  readonly uploadBytesMax: number
  readonly answerRoom: AnswerRoom
  /** The origins of the web pages that may read the answers, as the setting names them; empty for none. */
  readonly origins: string
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
}

export interface HttpServer {
  /** Stops accepting, answers with `Connection: close`, and closes when all is read, or after `withinMs`. */
  drain(withinMs: number): Promise<void>
  /** Ends every connection, and stops listening, at once. */
  close(): void
  connections(): number
  waiting(): number
  uploads(): UploadStats
}

/** @throws Error when the port cannot be listened on, or the certificate and key cannot be used */
export async function startHttpServer<Caller extends object>(
  service: Service<Caller>,
  options: HttpOptions,
): Promise<HttpServer> {
  const server = new Server(service, options)
  await server.listen()
  return server
}

/** How long a drain waits for further requests on idle connections, to answer them with `Connection: close`. */
const idleMsBeforeClose = 500

const expiryCheckMs = 1000

class Server<Caller extends object> implements HttpServer {
  readonly #app: TemplatedApp
  readonly #closing: Closing
  readonly #exchanges: Exchanges<Caller>
  readonly #bodies: Bodies
  readonly #uploads: Uploads<Caller>
  readonly #requests: Requests<Caller>
  readonly #cors: Cors | undefined
  readonly #connectionsMax = connectionsAllowed()
  #connections = 0
  #listening: us_listen_socket | undefined
  #expiry: NodeJS.Timeout | undefined

  constructor(
    private readonly service: Service<Caller>,
    private readonly options: HttpOptions,
  ) {
    this.#app = createApp(options.tls)
    this.#closing = new Closing(options.answerRoom, (cause) => service.closed(cause))
    this.#exchanges = new Exchanges(service, new Responses(this.#closing))
    this.#bodies = new Bodies(() => this.#exchanges.workingBytes)
    this.#cors = options.origins === '' ? undefined : new Cors(options.origins)
    this.#uploads = new Uploads(this.#exchanges, options.uploadBytesMax)
    this.#requests = new Requests(
      service,
      this.#exchanges,
      this.#bodies,
      this.#uploads,
      options.bodyBytesMax,
      this.#cors,
    )
    this.#limitConnections()
    this.#addRoutes()
    for (const page of service.pages) this.#addPage(page)
    this.#app.any('/*', (res, req) => this.#requests.onOther(res, req, service.refusal('unknown_route')))
  }

  connections(): number {
    return this.#connections
  }

  waiting(): number {
    return this.#exchanges.working
  }

  uploads(): UploadStats {
    return this.#uploads.stats
  }

  async listen(): Promise<void> {
    this.#expiry = setInterval(() => {
      this.#exchanges.expire(performance.now() - answerMsMax)
      this.#closing.closeUnread()
      this.#uploads.endSilent()
      this.#requests.allowTime()
    }, expiryCheckMs)
    this.#expiry.unref()
    this.#listening = await listen(this.#app, this.options)
  }

  async drain(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs
    this.#closing.isDraining = true
    this.#uploads.drain()
    if (this.#listening !== undefined) uWS.us_listen_socket_close(this.#listening)
    let idleSince = performance.now()
    while (this.#connections > 0 && performance.now() < deadline) {
      const { unanswered } = this.#exchanges
      const { rests, lingering } = this.#closing
      if (unanswered + rests.count + lingering + this.#uploads.stats.open > 0) idleSince = performance.now()
      else if (performance.now() - idleSince > idleMsBeforeClose) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    this.close()
  }

  close(): void {
    clearInterval(this.#expiry)
    this.#app.close()
  }

  #limitConnections(): void {
    this.#app.filter((res, change) => {
      this.#connections += Number(change)
      if (Number(change) > 0 && this.#connections > this.#connectionsMax)
        this.#closing.closeSilently(res, 'connections')
    })
  }

  #addRoutes(): void {
    for (const route of this.service.routes) {
      this.#app.post(route.path, (res, req) => this.#requests.onRoute(route, res, req))
      this.#refuseOtherMethods(route, 'POST')
    }
  }

  #addPage(page: Page): void {
    const { sameOrigin = false } = page
    const onRead = (res: HttpResponse, req: HttpRequest): void => {
      if (sameOrigin && isCrossOrigin(req))
        return this.#requests.onOther(res, req, this.service.refusal('cross_origin'), false)
      const request: PageRequest = {
        draining: this.#closing.isDraining,
        scheme: schemeOf(req, this.options.tls),
        path: req.getUrl(),
        host: req.getHeader('host'),
        authorization: req.getHeader('authorization'),
        ifNoneMatch: req.getHeader('if-none-match'),
        acceptEncoding: req.getHeader('accept-encoding'),
      }
      this.#requests.onOther(res, req, page.read(request), !sameOrigin)
    }
    this.#app.get(page.path, onRead)
    this.#app.head(page.path, onRead)
    this.#refuseOtherMethods(page, 'GET, HEAD')
  }

  /** Every other method is refused, except for preflights if there is a policy on origins. */
  #refuseOtherMethods({ path, sameOrigin = false }: Route<Caller> | Page, allowed: string): void {
    const refusal = (): Answer => this.service.refusal('method_not_allowed', allowed)
    const cors = this.#cors
    if (cors !== undefined) {
      // Also for the same origin alone: a page below a wildcard would answer it otherwise.
      this.#app.options(path, (res, req) => {
        const preflight = sameOrigin ? undefined : cors.preflight(req, allowed)
        this.#requests.onOther(res, req, preflight ?? refusal(), !sameOrigin)
      })
    }
    this.#app.any(path, (res, req) => this.#requests.onOther(res, req, refusal(), !sameOrigin))
  }
}

/** The scheme that the client used: as a proxy in front reports it, otherwise this server's own. */
function schemeOf(req: HttpRequest, tls: HttpOptions['tls']): 'http' | 'https' {
  // Of several proxies, the first is the client's.
  const [first = ''] = req.getHeader('x-forwarded-proto').toLowerCase().split(',', 1)
  const forwarded = first.trim()
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
