/** One request over an agent's connections, without the retries of `fetch`, so that no broken connection is hidden. */
import { type Agent, request } from 'node:http'

export interface Reply {
  readonly status: number
  readonly text: string
}

/** Rejects with the connection's error; its `reused` is true if the connection had carried a request before. */
export function send(agent: Agent, url: string, token: string, body: object): Promise<Reply> {
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = {
    'content-type': 'application/json',
    'content-length': bytes.length,
    authorization: `Apikey ${token}`,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers, agent }, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      incoming.on('error', reject).on('end', () => resolve({ status: incoming.statusCode ?? 0, text }))
    })
    outgoing.on('error', (error) => reject(Object.assign(error, { reused: outgoing.reusedSocket }))).end(bytes)
  })
}
