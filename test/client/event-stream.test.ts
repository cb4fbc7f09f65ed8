/** The client finds the same events for any division of a stream into pieces. */
import t from 'tap'
import { EventParser } from '../../dist/client/changes/event-stream.js'
import { type Random, seededRandom } from '../support/random.js'

const parts = [...'data event retry : a 7 12 é😀 \u2028 \ufeff'.split(' '), ': ', ' ', '\r', '\r\n', '\n', '\n\n']

function randomStream(random: Random): string {
  return Array.from({ length: random.below(60) }, () =>
    random.oneIn(2) ? random.pick(parts) : `${random.pick(['data', 'event', 'retry'])}: ${random.below(99)}\n`,
  ).join('')
}

/** The events in these pieces, and the last `retry`. */
function eventsIn(pieces: readonly string[]): { readonly events: readonly unknown[]; readonly retryMs: unknown } {
  const parser = new EventParser()
  const events = pieces.flatMap((piece) => parser.push(piece))
  return { events, retryMs: parser.retryMs }
}

function randomPieces(random: Random, text: string): string[] {
  const pieces: string[] = []
  const longest = 1 + random.below(20)
  for (let start = 0; start < text.length; ) {
    const end = start + random.below(longest + 1)
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

t.test('a stream yields the same events whether it arrives in one piece or in many', (t) => {
  const random = seededRandom(t)
  let found = 0
  for (let round = 0; round < 5000; round++) {
    const text = randomStream(random)
    const expected = eventsIn([text])
    found += expected.events.length
    for (const pieces of [randomPieces(random, text), [...text]])
      if (JSON.stringify(eventsIn(pieces)) !== JSON.stringify(expected)) t.fail(JSON.stringify(pieces))
  }
  t.ok(found > 1000, `${found} events`)
  t.end()
})

t.test('only a line feed ends a line, and comments are ignored', (t) => {
  const text = ':\n\n: x\nretry: 5\nevent: end\ndata: 1\ndata:2\n\n\ndata: a\r\n\r\ndata: 3\n\ndata: 4\n'
  t.strictSame(eventsIn([text]), {
    events: [
      { event: 'end', data: '1\n2' },
      { event: 'message', data: 'a\r\n3' },
    ],
    retryMs: 5,
  })
  t.end()
})
