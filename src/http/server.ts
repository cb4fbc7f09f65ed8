/**
 * The boundary with uWebSockets.js: the listener, connections, routes, pages and the drain. Only this folder imports the
 * library, and nothing here depends on topics.
 *
 * The path of a request, in order of processing. requests.ts reads the headers in one pass, and checks framing,
 * overload, authorization, content type and length before it keeps any of the body. The whole body goes to the route.
 * exchange.ts ensures at most one response, and none after the client has disconnected. head.ts and response.ts send the
 * response, and unread.ts bounds how much of it is buffered unread. closing.ts closes the connection after the last response.
 *
 * Caveats of the library, each pinned by a test:
 * - If a handler returns without calling `onAborted`, the process exits; after an abort, accessing `res` throws.
 * - A chunk's bytes are invalid after `onData` returns, so a body in one chunk is handled inside `onData`, in place. If a
 *   body arrives later than its headers, an empty chunk precedes it.
 * - If the bytes after a request do not start another, the library closes the connection when the request's handlers have
 *   returned. It writes a 400, 431 or 505 straight to the socket and closes the socket, so a corked response is lost. No
 *   call in a handler sends the response earlier or stops the parser. So a write is handled after the parser has returned
 *   (requests.ts). Pausing the connection until the response would cost a quarter of a write's CPU time.
 * - An empty line counts as the start of another request, which then never ends. Up to three stray bytes after a request, or
 *   any number of ASCII bytes without a space, become part of the next request's method.
 * - A request target with a host, or `*`, gets the same 505 as HTTP/1.0. The service sees none of these responses.
 * - It takes any five-byte value of the first `connection` header for "close", and does not parse lists (headers.ts).
 * - It reads the maximum size of a head from the environment when it is loaded, so the primary sets it (cluster/primary/).
 * - The parser continues with the bytes after an answered request, even if the response closes the connection. If the
 *   framing is ambiguous, the response must wait until the parser has returned (requests.ts): an empty header name hides
 *   the headers after it, and the first of two Content-Length headers wins. So a length of 0 also closes the connection;
 *   the only valid POST with this length is an upload without lines.
 * - If a second request arrives while the first is unanswered, the library closes the connection.
 * - It parses chunk sizes carelessly (`g`, `G` and `@` are 16, an extension is read as more digits). It takes trailers for
 *   another request, and any transfer-encoding for chunked. If a request has both Content-Length and Transfer-Encoding, the
 *   library itself responds with 400.
 * - The only expectation it handles is `100-continue`, in lower case; head.ts sends 100 for other spellings.
 * - `end` buffers unread output without limit, and does not report it. `tryEnd` buffers at most the head of one response
 *   and returns the rest to us, at a cost of another 0.5 µs. The request stays unanswered, so another one closes the connection.
 *   Small responses use `end`, except a random one in `answersPerProbe`, so that a client that pipelines without reading
 *   is soon found. In 20.51, `tryEnd` cannot close the connection, so closing.ts closes it after large responses.
 * - `end` with close closes immediately, and resets the connection if the client is still sending; closing.ts waits for
 *   the client.
 * - A socket closed in an immediate is never freed: the library would free it in its next turn. By then libuv has already
 *   closed its handle, so both leak (465 bytes). So connections are closed from timers or while the library handles the
 *   events of a poll. If a response is sent from an immediate and closes its connection, closing.ts therefore deliberately
 *   leaves it incomplete from the library's point of view.
 * - The library corks only responses sent within the handler or `onData`; later ones need `cork`, whose one buffer serves
 *   one connection at a time (exchange.ts).
 * - It does not limit how long a request may wait for its response; `answerMsMax` does.
 * - 20.51 and 20.69, whose binaries are for different versions of Node.js, differ in the calls that complete a response:
 *   `endWithoutBody` and `tryEnd` without any bytes do so only in the later one. Neither is used (head.ts).
 * - If no descriptor is free, the library retries accept in a busy loop, so connections are closed before descriptors run out.
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

/** Maximum time that a request waits for its response: longer than any client waits, but not forever. */
const answerMsMax = 120_000

interface HttpOptions {
  readonly host: string
  /** Never 0: several processes share the port, so no process may choose its own. */
  readonly port: number
  readonly bodyBytesMax: number
  readonly uploadBytesMax: number
  readonly answerRoom: AnswerRoom
  /** The origins of the web pages that may read responses, in the form of the setting; empty for none. */
  readonly origins: string
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
}

export interface HttpServer {
  /** Accepts no more connections, answers with `Connection: close`, and closes when clients have read everything or after `withinMs`. */
  drain(withinMs: number): Promise<void>
  /** Stops listening and closes every connection immediately. */
  close(): void
  connections(): number
  waiting(): number
  uploads(): UploadStats
}

/** @throws Error if listening on the port fails, or the certificate or key is unusable */
export async function startHttpServer<Caller extends object>(
  service: Service<Caller>,
  options: HttpOptions,
): Promise<HttpServer> {
  const server = new Server(service, options)
  await server.listen()
  return server
}

/** The time for which a drain waits for requests on idle connections, to answer them with `Connection: close`. */
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
      if (unanswered + rests.count + lingering.size + this.#uploads.stats.open > 0) idleSince = performance.now()
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

  /** Rejects all other methods, except for preflights if there is a policy on origins. */
  #refuseOtherMethods({ path, sameOrigin = false }: Route<Caller> | Page, allowed: string): void {
    const refusal = (): Answer => this.service.refusal('method_not_allowed', allowed)
    const cors = this.#cors
    if (cors !== undefined) {
      // Also for same-origin paths: otherwise a page with a wildcard path would answer the request.
      this.#app.options(path, (res, req) => {
        const preflight = sameOrigin ? undefined : cors.preflight(req, allowed)
        this.#requests.onOther(res, req, preflight ?? refusal(), !sameOrigin)
      })
    }
    this.#app.any(path, (res, req) => this.#requests.onOther(res, req, refusal(), !sameOrigin))
  }
}

/** The scheme that the client used: the one that a proxy reports, otherwise this server's own. */
function schemeOf(req: HttpRequest, tls: HttpOptions['tls']): 'http' | 'https' {
  // If there are several proxies, the first value is the client's.
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
