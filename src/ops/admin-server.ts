/**
 * The admin listener: for monitoring, on its own port, separate from the public routes. It accepts only GET and HEAD and
 * reads no body; nothing can be changed through it. The page at `/` shows the metrics as charts.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadSite } from '../web/site.js'
import type { FileAnswer, FileRequest } from '../web/static-files.js'
import type { ConsoleState, Figures } from './figures/console-state.js'

interface AdminOptions {
  readonly host: string
  readonly port: number
  /** The reasons why the service is not ready; empty if it is ready. */
  readonly notReadyReasons: () => readonly string[]
  /** The metrics as text, its content type, and the page's figures computed from the metrics. */
  readonly metrics: { readonly contentType: string; read(): Promise<string>; figures(sinceS: number): Promise<Figures> }
  /** The address of the console's topics page; undefined if it is turned off. */
  readonly topicsPage: () => ConsoleState['topicsPage']
  /** The API description as JSON. */
  readonly description: () => string
}

export interface Admin {
  /** The actual port, even if 0 was requested. */
  readonly port: number
  close(): Promise<void>
}

/** Enough for a monitoring system and a few people; more connections are closed. */
const connectionsMax = 100

/** Enough time for one line and a few headers. */
const requestMsMax = 5000

function answer(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
  })
  res.end(body)
}

const plain = 'text/plain; charset=utf-8'

function answerFile(res: ServerResponse, { status, contentType, headers, body }: FileAnswer): void {
  for (const [name, value] of headers) res.setHeader(name, value)
  if (status === 304) res.writeHead(304).end()
  else res.writeHead(status, { 'content-type': contentType, 'content-length': body.length }).end(body)
}

function fileRequestOf({ headers }: IncomingMessage): FileRequest {
  return { ifNoneMatch: headers['if-none-match'] ?? '', acceptEncoding: String(headers['accept-encoding'] ?? '') }
}

/** The path below which the files of the page at `/` are served. */
const filesPath = '/console/'

/** Resolves when the listener accepts connections. @throws Error if the address cannot be bound */
export function startAdmin(options: AdminOptions): Promise<Admin> {
  const { host, port, notReadyReasons, metrics, topicsPage, description } = options
  const site = loadSite('service')

  /** @param query if it has `since`, only later moments are returned */
  async function consoleState(query: string): Promise<ConsoleState> {
    const figures = await metrics.figures(Number(new URLSearchParams(query).get('since') ?? 0))
    const nowS = Date.now() / 1000
    return { nowS, notReadyReasons: notReadyReasons(), topicsPage: topicsPage(), ...figures, runs: [] }
  }

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (req.url ?? '').split('?')
    switch (path) {
      case '/':
        return answerFile(res, site.document(fileRequestOf(req)))
      case '/healthz':
        return answer(res, 200, plain, 'ok\n')
      case '/readyz': {
        const reasons = notReadyReasons()
        if (reasons.length === 0) return answer(res, 200, plain, 'ready\n')
        return answer(res, 503, plain, `not ready\n${reasons.map((reason) => `${reason}\n`).join('')}`)
      }
      case '/metrics':
        return answer(res, 200, metrics.contentType, await metrics.read())
      case '/console/state':
        return answer(res, 200, 'application/json', JSON.stringify(await consoleState(query)))
      case '/openapi.json':
        return answer(res, 200, 'application/json', description())
    }
    const file = path.startsWith(filesPath) ? site.file(path.slice(filesPath.length), fileRequestOf(req)) : undefined
    if (file !== undefined) return answerFile(res, file)
    answer(res, 404, plain, 'not found; the paths are /, /healthz, /readyz, /metrics and /openapi.json\n')
  }

  const server = createServer({ requestTimeout: requestMsMax, headersTimeout: requestMsMax }, (req, res) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('allow', 'GET, HEAD')
      res.shouldKeepAlive = false
      return answer(res, 405, plain, 'only GET and HEAD are supported\n')
    }
    void respond(req, res).catch((error: Error) => answer(res, 500, plain, `${error.message}\n`))
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
