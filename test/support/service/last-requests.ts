/**
 * Requests after whose answers the service ends the connection, one of each kind. How they are sent, and what is
 * expected beyond their status, is the tests' business.
 */
import { requestText } from './raw.js'

export interface LastRequest {
  readonly text: string
  readonly status: number
}

/** For a service with `--cors-origins *`. */
export function lastRequests(token: string): Readonly<Record<string, LastRequest>> {
  const fetch = '{"selector":"*a//"}'
  const set = '{"path":"a/b","value":1}'
  const get = (path: string, ...headers: readonly string[]): string =>
    [`GET ${path} HTTP/1.1`, 'host: topicd', ...headers, '', ''].join('\r\n')
  return {
    'a chunked body': { text: chunkedText(token, fetch), status: 200 },
    'an answer at once, and "connection: close"': {
      text: requestText('/topics/fetch', token, fetch, ['connection: close']),
      status: 200,
    },
    'an answer at once, and two headers': {
      text: requestText('/topics/fetch', token, fetch, ['connection: keep-alive', 'connection: close']),
      status: 200,
    },
    'an answer at once, and a connection of four bytes': {
      text: requestText('/topics/fetch', token, fetch, ['connection: aéb']),
      status: 200,
    },
    'an answer after a commit, and "connection: close"': {
      text: requestText('/topics/addAndSet', token, set, ['connection: close']),
      status: 200,
    },
    'an answer after a commit, and a connection of five bytes': {
      text: requestText('/topics/addAndSet', token, set, ['connection: abéc']),
      status: 200,
    },
    'a refused framing': { text: requestText('/topics/fetch', token, fetch, ['content-length: 5']), status: 400 },
    'a page': { text: get('/healthz', 'connection: close'), status: 200 },
    'a large page': { text: get('/console', 'connection: TE, close'), status: 200 },
    'the head of a page': { text: get('/healthz').replace('GET', 'HEAD'), status: 200 },
    'a page that has not changed': { text: get('/console', 'if-none-match: *'), status: 304 },
    'a page elsewhere': { text: get('/console/'), status: 301 },
    'a preflight': {
      text: get('/topics/fetch', 'origin: http://a', 'access-control-request-method: POST').replace('GET', 'OPTIONS'),
      status: 204,
    },
  }
}

/** A fetch whose body is in one chunk. */
export function chunkedText(token: string, body: string): string {
  const head = requestText('/topics/fetch', token, '', ['transfer-encoding: chunked'])
  return `${head.replace('content-length: 0\r\n', '')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
}
