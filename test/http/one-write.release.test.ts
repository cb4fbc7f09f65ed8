/**
 * Each response is sent in one piece, even under load. Responses in several pieces would also be correct but cost more, so no
 * other test would notice them.
 */
import { connect } from 'node:net'
import t from 'tap'
import { startServer } from '../support/service/server.js'

const connections = 64
const answersPerConnection = 100

t.test('each response to concurrent overwrites arrives in one piece', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const { hostname, port } = new URL(server.url)
  let pieces = 0
  let answers = 0

  /** Overwrites one topic repeatedly, each time as soon as the response is complete. */
  const overwrite = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ path, value: 1 })
      const headers = `host: x\r\nauthorization: Apikey ${server.token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
      const request = `POST /topics/addAndSet HTTP/1.1\r\n${headers}\r\n\r\n${body}`
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      let text = ''
      let left = answersPerConnection
      socket
        .setEncoding('latin1')
        .on('error', reject)
        .on('connect', () => socket.write(request))
      socket.on('data', (piece: string) => {
        pieces++
        text += piece
        if (!text.endsWith('}')) return
        if (!text.startsWith('HTTP/1.1 200 OK')) return reject(new Error(text))
        answers++
        text = ''
        if (--left > 0) return void socket.write(request)
        socket.destroy()
        resolve()
      })
    })
  await Promise.all(Array.from({ length: connections }, (_, i) => overwrite(`pieces/${i}`)))

  t.equal(answers, connections * answersPerConnection, 'every write gets a response')
  t.ok(pieces < 1.02 * answers, `${answers} responses arrived in ${pieces} pieces`)
})
