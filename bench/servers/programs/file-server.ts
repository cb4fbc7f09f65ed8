/**
 * What a big durable write costs at least, through the kernel's cache: uWebSockets.js receives the body, one file gets
 * its bytes, and after fdatasync comes a JSON constant of a given size. Bodies that arrive during a flush share the next
 * one. No routes, no keys, no parsing, and nothing that could be read back: the file is a ring.
 *
 *     node file-server.js PORT BYTES FILE
 */

import uWS, { type HttpResponse } from 'uWebSockets.js'
import { open } from 'node:fs/promises'

const [port = '0', bytes = '2', file = ''] = process.argv.slice(2)

/** A JSON string of exactly that many bytes, quotes included. */
const answer = `"${'x'.repeat(Number(bytes) - 2)}"`

/** The file is written again from its beginning, as a store reuses its pages. */
const fileBytesMax = 64 * 1024 * 1024

interface Waiting {
  readonly res: HttpResponse
  readonly body: Buffer
  gone: boolean
}

const handle = await open(file, 'w')
// A store overwrites pages that the file has: without this, every flush would also have to write the file's size.
const zeros = Buffer.alloc(1024 * 1024)
for (let at = 0; at < fileBytesMax; at += zeros.length) await writeAll([zeros], at)
await handle.sync()

let waiting: Waiting[] = []
let isFlushing = false
let position = 0

/** Ends this process, so that the run fails, unless all bytes are written. */
async function writeAll(buffers: readonly Buffer[], at: number): Promise<void> {
  const size = buffers.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await handle.writev(buffers, at)
  if (bytesWritten !== size) throw new Error(`${bytesWritten} of ${size} bytes were written`)
}

async function flush(): Promise<void> {
  isFlushing = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    const bodies = batch.map(({ body }) => body)
    const size = bodies.reduce((sum, { length }) => sum + length, 0)
    if (size > fileBytesMax) throw new Error('these connections send more at once than the file holds')
    if (position + size > fileBytesMax) position = 0
    await writeAll(bodies, position)
    position += size
    await handle.datasync()
    for (const { res, gone } of batch) {
      if (!gone) res.cork(() => res.writeHeader('content-type', 'application/json').end(answer))
    }
  }
  isFlushing = false
}

uWS
  .App()
  .any('/*', (res, req) => {
    const body = Buffer.allocUnsafeSlow(Number(req.getHeader('content-length')))
    const own: Waiting = { res, body, gone: false }
    let filled = 0
    res.onAborted(() => {
      own.gone = true
    })
    res.onData((chunk, isLast) => {
      body.set(new Uint8Array(chunk), filled)
      filled += chunk.byteLength
      if (!isLast) return
      waiting.push(own)
      if (!isFlushing) void flush()
    })
  })
  .listen('127.0.0.1', Number(port), (socket) => {
    if (socket === false) throw new Error(`cannot listen on port ${port}`)
    console.log('listening')
  })
