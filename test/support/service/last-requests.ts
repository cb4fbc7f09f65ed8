/**
 * Requests after whose responses the service closes the connection, one of each kind. The tests define how to send them, and their
 * expectations besides the status.
 */
import { chunkedHead, requestText } from './raw.js'

interface LastRequest {
  readonly text: string
  readonly status: number
}

/** For a service with `--cors-origins *`. */
export function lastRequests(token: string): Readonly<Record<string, LastRequest>> {
  const fetch = '{"selector":"*a//"}'
  const fetching = (header: string, status = 200, ...more: readonly string[]): LastRequest => {
    return { text: requestText('/topics/fetch', token, fetch, [header, ...more]), status }
  }
  const setting = (header: string): LastRequest => {
    return { text: requestText('/topics/addAndSet', token, '{"path":"a/b","value":1}', [header]), status: 200 }
  }
  const asking = (line: string, status: number, ...headers: readonly string[]): LastRequest => {
    return { text: [`${line} HTTP/1.1`, 'host: topicd', ...headers, '', ''].join('\r\n'), status }
  }
  return {
    'a chunked body': { text: chunkedText(token, fetch), status: 200 },
    'an immediate response to "connection: close"': fetching('connection: close'),
    'an immediate response to two headers': fetching('connection: keep-alive', 200, 'connection: close'),
    'an immediate response to a connection header of four bytes': fetching('connection: aéb'),
    'a response after a commit to "connection: close"': setting('connection: close'),
    'a response after a commit to a connection header of five bytes': setting('connection: abéc'),
    'a rejected framing': fetching('content-length: 5', 400),
    'a page': asking('GET /healthz', 200, 'connection: close'),
    'a large page': asking('GET /console', 200, 'connection: TE, close'),
    'the head of a page': asking('HEAD /healthz', 200),
    'a page that has not changed': asking('GET /console', 304, 'if-none-match: *'),
    'a page elsewhere': asking('GET /console/', 301),
    'a preflight': asking('OPTIONS /topics/fetch', 204, 'origin: http://a', 'access-control-request-method: POST'),
  }
}

/** A fetch whose body is in one chunk. */
export function chunkedText(token: string, body: string): string {
  return `${chunkedHead('/topics/fetch', token)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
}
