/**
 * The floor for streams: uWebSockets.js keeps the responses of POST /topics/changes open. For each operation of a batch, it writes an event
 * of the given size to the streams whose selector names the operation's group, or all groups. It stores nothing.
 *
 *     node bare-streams.js PORT BYTES
 */
import uWS, { type HttpResponse } from 'uWebSockets.js'

const [port = 0, bytes = 2] = process.argv.slice(2).map(Number)

/** The streams by group; those that follow all groups are under the empty string. */
const streams = new Map<string, Set<HttpResponse>>()

const event = (value: string): string => {
  const head = `id: x\ndata: {"value":${value},"rest":"`
  return `${head}${'x'.repeat(Math.max(0, bytes - head.length - 4))}"}\n\n`
}

const comment = ':\n'

function send(res: HttpResponse, text: string): void {
  res.cork(() => {
    res.write(text)
    res.write(comment)
  })
}

function publish(body: string): void {
  for (const [, group = '', value = ''] of body.matchAll(/"path":"g\/(\d+)\/n","value":("[^"]*")/g)) {
    const text = event(value)
    for (const name of [group, '']) for (const stream of streams.get(name) ?? []) send(stream, text)
  }
}

function withBody(res: HttpResponse, use: (body: string) => void): void {
  let body = ''
  res.onData((chunk, isLast) => {
    body += Buffer.from(chunk).toString('latin1')
    if (isLast) use(body)
  })
}

uWS
  .App()
  .post('/topics/changes', (res) => {
    let group = ''
    res.onAborted(() => streams.get(group)?.delete(res))
    withBody(res, (body) => {
      group = /\*g\/(\d+)\/\//.exec(body)?.[1] ?? ''
      const own = streams.get(group) ?? new Set()
      streams.set(group, own.add(res))
      res.writeHeader('content-type', 'text/event-stream')
      send(res, 'id: x\ndata: {}\n\n')
    })
  })
  .post('/topics/batch', (res) => {
    res.onAborted(() => undefined)
    withBody(res, (body) => {
      res.writeHeader('content-type', 'application/json').end('{"results":[]}')
      // Inside this handler, the batch's response holds the library's only buffer for corked writes; each event would take three calls.
      setImmediate(() => publish(body))
    })
  })
  .listen('127.0.0.1', port, (socket) => {
    if (socket === false) throw new Error(`cannot listen on port ${port}`)
    console.log('listening')
  })
