/**
 * The floor: uWebSockets.js reads the POST body and answers a constant of so many bytes, as JSON. No routes, no keys, no
 * parsing, no store. A second process on the same port shares it.
 *
 *     node bare-server.js PORT BYTES
 */
import uWS from 'uWebSockets.js'

const [port, bytes] = process.argv.slice(2).map(Number)

/** A JSON string of exactly that many bytes. */
const answer = `"${'x'.repeat(bytes - 2)}"`

uWS
  .App()
  .any('/*', (res) => {
    res.onAborted(() => undefined)
    res.onData((_chunk, isLast) => {
      if (isLast) res.writeHeader('content-type', 'application/json').end(answer)
    })
  })
  .listen('127.0.0.1', port, (socket) => {
    if (socket === false) throw new Error(`port ${port} cannot be listened on`)
    console.log('listening')
  })
