/**
 * The floor of streams: uWebSockets.js keeps the responses of POST /topics/changes open and, for each operation of a batch,
 * writes an event of the given size to those whose selector names its group, or all groups. It stores nothing.
 *
 *     node bare-streams.js PORT BYTES
 */
import uWS, { type HttpResponse } from 'uWebSockets.js'

const [port = 0, bytes = 2] = process.argv.slice(2).map(Number)

/** The streams of each group; those of all groups under the empty text. */
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
      // Within this handler the library's one buffer for corked writes is the poster's: each event would take three calls.
      setImmediate(() => publish(body))
    })
  })
  .listen('127.0.0.1', port, (socket) => {
    if (socket === false) throw new Error(`cannot listen on port ${port}`)
    console.log('listening')
  })
