/** The memory that an item takes. Other tests hold its members. */
import t from 'tap'
import { type Item, pageOf } from '../../dist/client/item.js'
import { collectGarbage } from '../support/garbage.js'

const pages = 1000

/** The text of a page of 100 topics with values of 100 bytes. */
function pageText(number: number): string {
  const results = Array.from({ length: 100 }, (_, i) => {
    const value = JSON.stringify({ number, text: 'x'.repeat(80) })
    return `{"path":"${number}/${i}","type":"json","value":${value}}`
  })
  return `{"has_more":false,"results":[${results.join(',')}]}`
}

t.test('an item keeps only its own part of a page in memory', async (t) => {
  const itemOf = (number: number): Item | undefined => pageOf(pageText(number)).results[7]
  // Warm-up.
  for (let i = 0; i < 100; i++) itemOf(i)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const kept = Array.from({ length: pages }, (_, i) => itemOf(i))
  collectGarbage()
  const bytes = Math.round((process.memoryUsage().heapUsed - before) / pages)
  t.ok(bytes < 2000, `${bytes} of ${pageText(0).length} bytes each`)
  t.equal(kept[3]?.text, JSON.stringify({ number: 3, text: 'x'.repeat(80) }))
})
