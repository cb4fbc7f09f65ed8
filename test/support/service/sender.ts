/**
 * A single request through Node's own HTTP client, without the retries of `fetch`, so that no broken connection is hidden. To keep
 * connections alive, pass an agent.
 */
import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'

interface Sent {
  /** POST by default. */
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  /** By default the connection is used for this request only. */
  readonly agent?: Agent | false
  /** The body, sent in chunks unless the headers contain its length. */
  readonly pieces?: readonly Buffer[]
}

export interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Rejects with the connection's error, whose `reused` is true if the connection had carried a request before. */
export function sendPieces(
  url: string,
  { method = 'POST', headers, agent = false, pieces = [] }: Sent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers: headers ?? {}, agent }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes: Buffer.concat(chunks) }),
      )
    })
    outgoing.on('error', (error) => reject(Object.assign(error, { reused: outgoing.reusedSocket })))
    for (const piece of pieces) outgoing.write(piece)
    outgoing.end()
  })
}

/** The headers of a request to the API. */
export function headersOf(token: string, length?: number): OutgoingHttpHeaders {
  const headers = { 'content-type': 'application/json', authorization: `Apikey ${token}` }
  return length === undefined ? headers : { ...headers, 'content-length': length }
}

export interface Reply {
  readonly status: number
  readonly text: string
}

/** Sends a body of JSON. */
export async function send(agent: Agent, url: string, token: string, body: object): Promise<Reply> {
  const bytes = Buffer.from(JSON.stringify(body))
  const answer = await sendPieces(url, { headers: headersOf(token, bytes.length), agent, pieces: [bytes] })
  return { status: answer.status, text: answer.bytes.toString() }
}
