/**
 * An idle service stores and returns a body of exactly the maximum size that the setting allows, with its length announced or
 * chunked; one more byte is rejected.
 */
import { createHash } from 'node:crypto'
import t from 'tap'
import { settingTable } from '../../dist/settings/table.js'
import { headersOf, sendPieces } from '../support/service/sender.js'
import { type Server, startServer } from '../support/service/server.js'

const largest = settingTable['body-bytes-max'].max
/** Above it, a doubling buffer and the one that it replaces together exceed the limit of the process. */
const half = largest / 2

/** A body of this size that sets a topic, and the SHA-256 of its value. */
function bodyOf(path: string, bytes: number): { readonly body: Buffer; readonly hash: string } {
  const head = `{"path":"${path}","type":"string","value":"`
  const value = Buffer.alloc(bytes - head.length - 2, 'The quick brown fox jumps over the lazy dog. ')
  return { body: Buffer.concat([Buffer.from(head), value, Buffer.from('"}')]), hash: sha256(value) }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Posts the pieces, chunked unless a length is announced. */
const post = ({ url, token }: Server, route: string, pieces: readonly Buffer[], length?: number) =>
  sendPieces(`${url}/topics/${route}`, { headers: headersOf(token, length), pieces })

/** The same bytes in pieces of slightly more than 1 MiB. */
function inPieces(body: Buffer): readonly Buffer[] {
  const bytes = 1_050_000
  return Array.from({ length: Math.ceil(body.length / bytes) }, (_, i) => body.subarray(i * bytes, (i + 1) * bytes))
}

t.test('bodies up to the maximum that the setting allows are stored and fetched', async (t) => {
  const server = await startServer(t, { workers: 1, flags: ['--body-bytes-max', String(largest)] })
  for (const bytes of [half + 1, largest]) {
    for (const framing of ['in one', 'in pieces', 'chunked'] as const) {
      const path = `${framing}/${bytes}`
      const { body, hash } = bodyOf(path, bytes)
      const length = framing === 'chunked' ? undefined : bytes
      const set = await post(server, 'addAndSet', framing === 'in one' ? [body] : inPieces(body), length)
      t.match({ ...set, text: set.bytes.toString() }, { status: 200, text: /"created":true/ }, `${bytes} ${framing}`)
      const fetched = await post(server, 'fetch', [Buffer.from(JSON.stringify({ path, type: 'string' }))])
      const start = fetched.bytes.indexOf('"value":"') + '"value":"'.length
      t.equal(sha256(fetched.bytes.subarray(start, -2)), hash, 'the value is fetched')
    }
  }
  const { body } = bodyOf('beyond', largest + 1)
  t.equal((await post(server, 'addAndSet', [body], body.length)).status, 413, 'the maximum + 1')
  t.equal((await post(server, 'addAndSet', inPieces(body))).status, 413, 'the maximum + 1, chunked')
})
