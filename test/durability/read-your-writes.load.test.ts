/**
 * A write that one worker has acknowledged is in the very next fetch from any other.
 *
 * Every lane writes to its own topic and fetches over the next connection as soon as a write is answered. In the meantime, readers keep the
 * workers busy, because only a worker that is never idle keeps an old snapshot. It does so only for a millisecond, so the readers are few
 * and their fetches short.
 */
import t from 'tap'
import { overWorkers } from '../support/service/over-stores.js'

const lanes = 8
const roundsPerLane = 36
const readers = 6

await overWorkers(t, async (t, server) => {
  const stale: string[] = []

  async function lane(number: number): Promise<void> {
    const { post } = server.connect(4)
    const path = `lane/${number}`
    const item = (value: number) => `{"path":"${path}","type":"json","value":${value}}`

    async function expect(expectation: string, body: object, text: string): Promise<void> {
      const answer = await post('fetch', body)
      if (!answer.text.startsWith(text)) stale.push(`${expectation} of ${path}: ${answer.text} instead of ${text}`)
    }

    for (let value = 0; value < roundsPerLane; value++) {
      await post('addAndSet', { path, value })
      await expect('addAndSet', { path }, item(value))
      await post('set', { path, value: -value - 1 })
      await expect('set', { selector: `*${path}//` }, `{"has_more":false,"results":[${item(-value - 1)}]}`)
      if (value % 4 > 0) continue
      await post('remove', value % 8 === 0 ? { path } : { selector: `*${path}//` })
      await expect('remove', { path }, '{"code":"no_such_topic"')
      await post('add', { path })
      await expect('add', { path }, `{"path":"${path}","type":"json"}`)
    }
  }

  let isWriting = true

  async function read(): Promise<void> {
    const { post } = server.connect(1)
    while (isWriting) await post('fetch', { path: 'lane/0' })
  }

  await t.test('a fetch over any connection sees every acknowledged write', async (t) => {
    const reading = Array.from({ length: readers }, () => read())
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
    isWriting = false
    await Promise.all(reading)
    t.strictSame(stale, [], `${lanes * roundsPerLane * 2} writes, each followed by a fetch over another connection`)
  })
})
