/**
 * Waiting writes, such as while the writer hangs, take at most nine tenths of a worker's places. The rest is for reads.
 */
import t from 'tap'
import type { Answer, Route } from '../../dist/http/answer.js'
import { type RawConnection, requestText } from '../support/service/raw.js'
import { serveRoutes } from '../support/service/served.js'
import { until } from '../support/service/server.js'

/** The limits per worker in docs/guarantees.md. */
const [writesMax, requestsMax] = [9000, 10_000]

t.test('reads are answered while the limit on waiting writes is reached', async (t) => {
  const never = new Promise<Answer>(() => {})
  const done = { status: 200, body: '{}' }
  let isStuck = true
  const route = (name: string, isRead: boolean, answer: () => Answer | Promise<Answer>): Route<object> => ({
    path: `/topics/${name}`,
    isRead,
    handle: answer,
  })
  const { server, connect } = await serveRoutes(t, [
    route('set', false, () => (isStuck ? never : done)),
    route('follow', true, () => never),
    route('fetch', true, () => done),
  ])
  const ask = async (name: string): Promise<RawConnection> => {
    const connection = await connect()
    await connection.write(requestText(`/topics/${name}`, 'key', '{}'))
    return connection
  }
  const statusOf = async (name: string): Promise<number | undefined> => {
    const connection = await ask(name)
    const status = (await connection.answer())?.status
    connection.close()
    return status
  }
  /** Waiting requests count even after their clients have disconnected, so few connections are open. */
  const fill = async (name: string, count: number): Promise<void> => {
    while (server.waiting() < count) {
      const more = Math.min(500, count - server.waiting())
      const before = server.waiting()
      const connections = await Promise.all(Array.from({ length: more }, () => ask(name)))
      await until('the requests wait', async () => server.waiting() === before + more || undefined)
      for (const connection of connections) connection.close()
    }
  }
  await fill('set', writesMax)
  // If another write were accepted now, it would be answered.
  isStuck = false
  t.equal(await statusOf('set'), 503)
  t.equal(await statusOf('fetch'), 200)
  await fill('follow', requestsMax - 1)
  t.equal(await statusOf('fetch'), 200)
  await fill('follow', requestsMax)
  t.equal(await statusOf('fetch'), 503)
})
