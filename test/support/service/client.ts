/**
 * An HTTP client for tests: a fixed number of keep-alive connections, which requests use in turn, and bodies sent verbatim. It never
 * retries, so that a lost response is noticed.
 */
import { Agent, type IncomingHttpHeaders } from 'node:http'
import { sendPieces } from './sender.js'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body. */
  readonly text: string
  /** The `code` of a response that is not a 200; otherwise empty. */
  readonly code: string
  /** The `message` of a response that is not a 200; otherwise empty. */
  readonly message: string
}

interface FetchedItem {
  readonly path: string
  readonly type: string
  readonly value?: unknown
}

export interface FetchedPage {
  readonly has_more: boolean
  readonly results: readonly FetchedItem[]
}

interface PostOptions {
  /** Replaces the client's token; null sends no authorization header. */
  readonly token?: string | null
  readonly method?: string
  /** Headers added to the client's own, or replacing them; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** A body: a string or bytes are sent verbatim, anything else as JSON. */
export type Body = string | Buffer | object

/** Idle time in ms after which a connection is not reused: the service closes it after about 10 s. */
const idleMsMax = 5000

export class Client {
  readonly #url: string
  readonly #token: string
  readonly #agents: readonly Agent[]
  #turn = 0

  /** Requests use `connections` connections in turn, each for one request at a time. */
  constructor(
    url: string,
    token: string,
    readonly connections: number,
  ) {
    this.#url = url
    this.#token = token
    this.#agents = Array.from(
      { length: connections },
      () => new Agent({ keepAlive: true, maxSockets: 1, timeout: idleMsMax }),
    )
  }

  /** Sends one request to `/topics/<route>` and resolves with the whole response. */
  post = (route: string, body: Body, options: PostOptions = {}): Promise<Answer> =>
    this.send(`/topics/${route}`, body, options)

  /** Sends one request to a path below the base. */
  send(path: string, body: Body, options: PostOptions = {}): Promise<Answer> {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const token = options.token === undefined ? this.#token : options.token
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'content-length': String(bytes.length),
    }
    if (token !== null) headers.authorization = `Apikey ${token}`
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (value === undefined) delete headers[name]
      else headers[name] = value
    }
    const agent: Agent | false = this.#agents[this.#turn++ % this.#agents.length] ?? false
    const sent = { method: options.method ?? 'POST', headers, agent, pieces: [bytes] } as const
    return sendPieces(this.#url + path, sent).then(({ status, headers, bytes }) => {
      const text = bytes.toString()
      const { code = '', message = '' } = status === 200 ? {} : problemOf(text)
      return { status, headers, text, code, message }
    })
  }

  /** Fetches a selector page by page, following `has_more` and `after` as specified. */
  async walk(
    selector: string,
    options: { readonly size?: number; readonly type?: string } = {},
  ): Promise<FetchedPage[]> {
    const pages: FetchedPage[] = []
    for (let after: string | undefined; ; ) {
      const answer = await this.post('fetch', { selector, ...options, after })
      if (answer.status !== 200) throw new Error(`a page of ${selector} returned ${answer.status}: ${answer.text}`)
      const page = JSON.parse(answer.text) as FetchedPage
      pages.push(page)
      if (!page.has_more) return pages
      after = page.results.at(-1)?.path
      if (after === undefined) throw new Error(`a page of ${selector} was empty, though it has more`)
    }
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy()
  }
}

/** All paths of these pages, in order. */
export function pathsOf(pages: readonly FetchedPage[]): string[] {
  return pages.flatMap((page) => page.results.map((item) => item.path))
}

/** The members of an error's body; empty if the body is not JSON. */
function problemOf(text: string): { readonly code?: string; readonly message?: string } {
  try {
    return JSON.parse(text) as { code?: string; message?: string }
  } catch {
    return {}
  }
}
