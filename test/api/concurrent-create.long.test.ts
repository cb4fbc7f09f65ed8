/**
 * Concurrent writers on one path: exactly one creates the topic, and a removed topic stays removed.
 */

import t from 'tap'
import { at, first } from '../support/elements.js'
import type { Answer } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'

const rounds = 20

await overStores(t, async (t, server) => {
  /** Connections that all send at the same time; the kernel spreads them over the workers. */
  const clients = Array.from({ length: 12 }, () => server.connect())
  const { post } = server

  /** Sends the same request over every connection at the same time. */
  const atOnce = (route: string, body: (client: number) => object): Promise<Answer[]> =>
    Promise.all(clients.map((client, i) => client.post(route, body(i))))
  const created = (answers: readonly Answer[]) => answers.filter(({ text }) => text.includes('"created":true')).length
  const refusals = (answers: readonly Answer[]) =>
    answers.filter(({ status }) => status !== 200).map(({ text }) => text)

  for (const route of ['add', 'addAndSet']) {
    await t.test(`exactly one of many concurrent requests to ${route} creates the topic`, async (t) => {
      for (let round = 0; round < rounds; round++) {
        const path = `${route}/${round}`
        const answers = await atOnce(route, (value) => (route === 'add' ? { path } : { path, value }))
        const found = { created: created(answers), refusals: refusals(answers) }
        t.same(found, { created: 1, refusals: [] }, `round ${round}: one creates`)
        const value = route === 'add' ? '' : ',"value":\\d+'
        t.match(
          (await post('fetch', { path })).text,
          new RegExp(`,"type":"json"${value}}$`),
          `round ${round}: one value`,
        )
      }
    })
  }

  await t.test('concurrent addAndSets with different types leave a topic of one type', async (t) => {
    for (let round = 0; round < rounds; round++) {
      const path = `type/${round}`
      const answers = await atOnce('addAndSet', (i) => ({ path, type: i % 2 === 0 ? 'json' : 'string', value: 'x' }))
      const winner = answers.findIndex(({ text }) => text.includes('"created":true')) % 2
      const right = answers.every(({ status, code }, i) =>
        i % 2 === winner ? status === 200 : code === 'incompatible_type',
      )
      t.ok(right && created(answers) === 1, `round ${round}`)
    }
  })

  await t.test('exactly one of many concurrent remove requests removes the topic', async (t) => {
    for (let round = 0; round < rounds; round++) {
      const path = `gone/${round}`
      await post('addAndSet', { path, value: round })
      const answers = await atOnce('remove', (i) => (i % 2 === 0 ? { path } : { selector: `*${path}//` }))
      const removed = answers.map(({ text }) => (JSON.parse(text) as { removed: number }).removed)
      t.equal(
        removed.reduce((a, b) => a + b),
        1,
        `round ${round}`,
      )
    }
  })

  await t.test('set never restores a topic removed by a concurrent remove', async (t) => {
    for (let round = 0; round < rounds; round++) {
      const path = `back/${round}`
      await post('addAndSet', { path, value: 0 })
      const remover = round % clients.length
      const answers = await Promise.all(
        clients.map((client, i) =>
          i === remover ? client.post('remove', { path }) : client.post('set', { path, value: i }),
        ),
      )
      t.equal(at(answers, remover).text, '{"removed":1}', `round ${round}: removed`)
      const sets = answers.filter((_, i) => i !== remover)
      t.ok(
        sets.every(({ status, code }) => status === 200 || code === 'no_such_topic'),
        `round ${round}: each set ran before or after the remove`,
      )
      t.equal((await post('fetch', { path })).code, 'no_such_topic', `round ${round}: the topic stays removed`)
    }
  })

  await t.test('a topic removed and set concurrently then exists if and only if addAndSet ran last', async (t) => {
    for (let round = 0; round < rounds; round++) {
      const path = `both/${round}`
      await post('addAndSet', { path, value: 0 })
      const [removal, creation] = await Promise.all([
        first(clients).post('remove', { path }),
        at(clients, 1).post('addAndSet', { path, value: 1 }),
      ])
      t.equal(removal.text, '{"removed":1}', `round ${round}: removed`)
      const exists = (await post('fetch', { path })).status === 200
      t.equal(
        exists,
        creation.text.includes('"created":true'),
        `round ${round}: the topic exists if and only if it was created after the remove`,
      )
    }
  })
})
