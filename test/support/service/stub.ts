/**
 * A stand-in for the service that responds as a test requires, for behaviour that the service itself shows only by chance: closing a
 * connection, silence, temporary rejection. It records the requests it received.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface StubRequest {
  /** The URL's path. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The body. */
  readonly text: string
}

/** A response, or the fate of the connection in place of one. */
export type StubAnswer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly text: string }
  | 'close'
  | 'close midway'
  | 'be silent'

export interface Stub {
  readonly url: string
  /** Every request so far, oldest first. */
  readonly requests: readonly StubRequest[]
}

/** Starts a stub for this test. `answer` receives each request and the number of earlier requests. */
export async function startStub(t: Test, answer: (request: StubRequest, index: number) => StubAnswer): Promise<Stub> {
  const requests: StubRequest[] = []
  const server = createServer(async (incoming, response) => {
    const text = (await incoming.setEncoding('utf8').toArray()).join('')
    const request = { path: incoming.url ?? '', headers: incoming.headers, text }
    requests.push(request)
    send(response, answer(request, requests.length - 1))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

function send(response: ServerResponse, answer: StubAnswer): void {
  if (answer === 'be silent') return
  if (answer === 'close') response.destroy()
  else if (answer === 'close midway') {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{"path":"a",', () => response.destroy())
  } else response.writeHead(answer.status ?? 200, answer.headers).end(answer.text)
}
