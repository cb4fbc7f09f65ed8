/**
 * Sends the same request many times, each on its own connection, which the service closes after the response. As a program,
 * `short-connections.js PORT COUNT`, it reads the request from its input; in a test's own process this would take ten times as long.
 */
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

const atOnce = 100

/** Resolves when the connection closes; fails if it closes without a response. */
function sendOne(port: number, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    let received = ''
    socket
      .on('connect', () => socket.write(request))
      .on('data', (piece: Buffer) => (received += piece.toString('latin1')))
      .on('error', reject)
      // The service closes the connection.
      .on('close', () => (/^HTTP\/1.1 [2-4]/.test(received) ? resolve() : reject(new Error(`received: ${received}`))))
  })
}

async function main([port = '', count = '']: readonly string[]): Promise<void> {
  const request = await buffer(process.stdin)
  let left = Number(count)
  const lane = async (): Promise<void> => {
    while (left-- > 0) await sendOne(Number(port), request)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2))
