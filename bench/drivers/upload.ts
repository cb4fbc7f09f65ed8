/**
 * Uploads over one connection, reading the response at the same time: lines of operations to topicd, commands to Redis. etcd has no
 * uploads, so transactions are sent to it in turn. Data is generated piece by piece while it is sent, so memory holds only one piece and
 * the connection's buffers. Every response is checked.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { send } from '../measure/http.js'
import type { Running } from '../servers/server.js'
import { opened } from './crowd.js'
import { shownMax } from './driver.js'

/** Time without a response after which an upload has failed. */
const silenceMsMax = 60_000

/** Redis's response to a SET. */
const ok = '+OK\r\n'

/** A line of topicd's response. */
interface Line {
  readonly durable?: number
  readonly refused?: number
}

/**
 * Sends lines to topicd, one operation each.
 *
 * @param pieces each consisting of whole lines
 * @throws Error unless all `count` operations are durable
 */
export async function uploadLines(running: Running, pieces: Iterable<string>, count: number): Promise<void> {
  const outgoing = request({
    host: '127.0.0.1',
    port: running.port,
    method: 'POST',
    path: '/topics/batch',
    headers: { ...running.headers, 'content-type': 'application/x-ndjson' },
    agent: false,
    timeout: silenceMsMax,
  })
  outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing was sent or received for ${silenceMsMax} ms`)))
  const answered = new Promise<void>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => void checkLines(incoming, count).then(resolve, reject))
  })
  try {
    const sent = sendAll(outgoing, pieces).then(() => outgoing.end())
    await Promise.race([sent.then(() => answered), answered])
  } finally {
    outgoing.destroy()
  }
}

async function checkLines(incoming: IncomingMessage, count: number): Promise<void> {
  if (incoming.statusCode !== 200) throw new Error(`an upload returned ${incoming.statusCode}`)
  let rest = ''
  let last = ''
  let durable = 0
  for await (const piece of incoming.setEncoding('utf8')) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const said = JSON.parse(line) as Line
      if (said.refused !== 0 || said.durable === undefined || said.durable < durable) {
        throw new Error(`an upload returned ${line.slice(0, shownMax)}`)
      }
      durable = said.durable
      // Filler of a stream (src/http/streams.ts) may precede the line as white space.
      last = line.trimStart()
    }
  }
  if (rest !== '' || last !== `{"done":true,"durable":${count},"refused":0}`) {
    throw new Error(`an upload of ${count} lines ended with ${last}${rest}`)
  }
}

/**
 * Sends commands to Redis, without waiting for responses.
 *
 * @throws Error unless all `count` return OK
 */
export async function uploadCommands(port: number, pieces: Iterable<string>, count: number): Promise<void> {
  const socket = await opened(port)
  const answered = allOk(socket, count)
  try {
    await Promise.race([sendAll(socket, pieces).then(() => answered), answered])
  } finally {
    socket.destroy()
  }
}

function allOk(socket: Socket, count: number): Promise<void> {
  let bytes = 0
  return new Promise((resolve, reject) => {
    const fail = (what: string): void => reject(new Error(`after ${bytes} bytes of responses: ${what}`))
    socket.setTimeout(silenceMsMax, () => fail(`no more for ${silenceMsMax} ms`))
    socket.once('error', (error) => fail(error.message)).once('close', () => fail('the connection was closed'))
    socket.setEncoding('latin1').on('data', (text: string) => {
      // The responses in sequence, from the position at which the last piece ended.
      const from = bytes % ok.length
      const expected = ok.repeat(Math.ceil((from + text.length) / ok.length)).slice(from, from + text.length)
      if (text !== expected) fail(`wrong: ${text.slice(0, shownMax)}`)
      bytes += text.length
      if (bytes === count * ok.length) resolve()
    })
  })
}

/** Sends transactions to etcd. @throws Error unless each succeeds */
export async function uploadTransactions(running: Running, bodies: Iterable<string>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    for (const body of bodies) {
      const post = { method: 'POST', path: '/v3/kv/txn', body } as const
      const answer = await send(running.port, running.headers, post, agent)
      if (answer.status !== 200 || !answer.body.includes('"succeeded":true'))
        throw new Error(`a transaction returned ${answer.status} ${answer.body.slice(0, shownMax)}`)
    }
  } finally {
    agent.destroy()
  }
}

/** Sends pieces as fast as they are accepted, yielding to the response in between. */
async function sendAll(to: Writable, pieces: Iterable<string>): Promise<void> {
  for (const piece of pieces) {
    await new Promise<void>((resolve, reject) => {
      to.write(piece, (error) => (error ? reject(error) : resolve()))
    })
    // Otherwise pieces that the system accepts immediately would leave the response no turn.
    await new Promise((resolve) => setImmediate(resolve))
  }
}
