/**
 * The floor: uWebSockets.js reads the request body and returns a JSON constant of a given size. No routes, no keys, no parsing, no store.
 * Several processes may share the port.
 *
 *     node bare-server.js PORT BYTES
 */
import uWS from 'uWebSockets.js'

const [port = 0, bytes = 2] = process.argv.slice(2).map(Number)

/** A JSON string of exactly `bytes` bytes, including quotes. */
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
    if (socket === false) throw new Error(`cannot listen on port ${port}`)
    console.log('listening')
  })
