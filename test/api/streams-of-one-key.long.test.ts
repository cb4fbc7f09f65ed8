/** The maximum number of streams and waiting polls of one key in a worker: exactly as many as documented. */
import t from 'tap'
import { first } from '../support/elements.js'
import { refuses } from '../support/expected-answers.js'
import { ChangesStream } from '../support/service/changes.js'
import { startServer, until } from '../support/service/server.js'

/** As in docs/changes.md. */
const listenersOfKeyMax = 1000

/** Number opened at the same time: fewer than a socket's backlog. */
const openedAtOnce = 100

t.test('one key can open as many streams and polls as documented, without affecting other keys', async (t) => {
  const server = await startServer(t, { workers: 1 })
  const [token, other] = [await server.addKey('crowd'), await server.addKey('other')]
  const open = (key: string): Promise<ChangesStream> =>
    ChangesStream.open({ url: server.url, token: key }, { selector: '*nothing//' })
  const streams: ChangesStream[] = []
  while (streams.length < listenersOfKeyMax)
    streams.push(...(await Promise.all(Array.from({ length: openedAtOnce }, () => open(token)))))
  t.strictSame([...new Set(streams.map(({ response }) => response.statusCode))], [200])

  const beyond = await open(token)
  t.equal(beyond.response.statusCode, 503, 'one stream too many')
  beyond.close()
  const poll = { path: 'a', since: 'now', wait: 30 }
  refuses(t, await server.post('changes', poll, { token }), 503, 'overloaded', 'a poll that would wait')
  t.equal((await server.post('changes', { path: 'a' }, { token })).status, 200, 'a page waits for nothing')

  const ofOther = await open(other)
  t.equal(ofOther.response.statusCode, 200, 'another key is not affected')
  ofOther.close()

  first(streams).close()
  const next = await until('there is room again', async () => {
    const stream = await open(token)
    if (stream.response.statusCode === 200) return stream
    stream.close()
    return undefined
  })
  await server.post('addAndSet', { path: 'nothing/1', value: 1 })
  await next.complete('the new stream is served', ({ topics }) => topics.has('nothing/1'))
  for (const stream of [...streams, next]) stream.close()
})
