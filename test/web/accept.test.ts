/** The headers accept and accept-encoding are lists with weights: for streams, for uploads, and for pages and files. */
import t from 'tap'
import { asksFor, takesGzip } from '../../dist/web/accept.js'

const stream = 'text/event-stream'

t.test('a media type counts as requested if it is named, with a weight not below that of JSON', (t) => {
  for (const accept of [
    stream,
    'Text/Event-Stream',
    `${stream};charset=utf-8`,
    `${stream};q=0.1`,
    `*/*, ${stream}`,
    `application/json, ${stream}`,
    `application/json;q=0.5,${stream};q=0.9`,
  ])
    t.equal(asksFor(stream, accept), true, accept)
  for (const accept of [
    '',
    '*/*',
    'text/*',
    `${stream};q=0`,
    `${stream}; Q=0.000`,
    `application/json, ${stream};q=0.5`,
    `${stream}s`,
    `x-${stream}`,
    'application/json; profile=text/event-stream',
  ])
    t.equal(asksFor(stream, accept), false, accept)
  t.end()
})

t.test('gzip counts as accepted if it is named, or if it is not named but * is accepted', (t) => {
  for (const accept of ['gzip', 'br;q=1, gzip;q=0.5', '*']) t.equal(takesGzip(accept), true, accept)
  for (const accept of ['', 'br', 'gzip;q=0, *', '*;q=0']) t.equal(takesGzip(accept), false, accept)
  t.end()
})
