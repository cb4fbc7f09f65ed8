/**
 * The admin listener: for monitoring, on a port of its own, apart from the public routes. Only GET and HEAD, no body is
 * read, and nothing can be changed through it.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface AdminOptions {
  readonly host: string
  readonly port: number
  /** Why the service is not ready, one reason each; none when it is. */
  readonly notReadyReasons: () => readonly string[]
  /** Metrics, and the content type of their text. */
  readonly metrics: { readonly contentType: string; read(): Promise<string> }
  /** The API description, JSON. */
  readonly description: () => string
}

export interface Admin {
  /** The real one, even if 0 was requested. */
  readonly port: number
  close(): Promise<void>
}

/** Enough for a monitoring system and a few people; further connections are refused. */
const connectionsMax = 100

/** Enough for one line and some headers. */
const requestMsMax = 5000

function answer(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  res.end(body)
}

const plain = 'text/plain; charset=utf-8'

/**
 * Starts the listener; resolves when it accepts connections.
 *
 * @throws Error when the address cannot be listened on
 */
export function startAdmin({ host, port, notReadyReasons, metrics, description }: AdminOptions): Promise<Admin> {
  async function respond(path: string, res: ServerResponse): Promise<void> {
    switch (path) {
      case '/healthz':
        return answer(res, 200, plain, 'ok\n')
      case '/readyz': {
        const reasons = notReadyReasons()
        if (reasons.length === 0) return answer(res, 200, plain, 'ready\n')
        return answer(res, 503, plain, `not ready\n${reasons.map((reason) => `${reason}\n`).join('')}`)
      }
      case '/metrics':
        return answer(res, 200, metrics.contentType, await metrics.read())
      case '/openapi.json':
        return answer(res, 200, 'application/json', description())
      default:
        return answer(res, 404, plain, 'not found; the paths are /healthz, /readyz, /metrics and /openapi.json\n')
    }
  }

  const server = createServer({ requestTimeout: requestMsMax, headersTimeout: requestMsMax }, (req, res) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('allow', 'GET, HEAD')
      res.shouldKeepAlive = false
      return answer(res, 405, plain, 'GET and HEAD only\n')
    }
    const [path = ''] = (req.url ?? '').split('?')
    void respond(path, res).catch((error: Error) => answer(res, 500, plain, `${error.message}\n`))
  })
  server.maxConnections = connectionsMax
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const { port: chosen } = server.address() as AddressInfo
      resolve({
        port: chosen,
        close: () => new Promise((closed) => server.close(() => closed()).closeAllConnections()),
      })
    })
  })
}
