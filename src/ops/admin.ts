/**
 * The admin listener: for the person who watches, on a port of its own, apart from the public routes.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface AdminOptions {
  readonly host: string
  readonly port: number
  /** Whether every worker serves and can write, and nothing is ending. */
  readonly ready: () => boolean
  readonly restarts: () => number
}

export interface Admin {
  readonly url: string
  close(): Promise<void>
}

export function startAdmin({ host, port, ready }: AdminOptions): Promise<Admin> {
  const server = createServer((req, res) => {
    switch (req.url) {
      case '/healthz':
        return res.end('ok\n')
      case '/readyz':
        res.statusCode = ready() ? 200 : 503
        return res.end(ready() ? 'ready\n' : 'not ready\n')
      default:
        res.statusCode = 404
        return res.end()
    }
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const { port: chosen } = server.address() as AddressInfo
      resolve({
        url: `http://${host.includes(':') ? `[${host}]` : host}:${chosen}`,
        close: () => new Promise((closed) => server.close(() => closed()).closeAllConnections()),
      })
    })
  })
}
