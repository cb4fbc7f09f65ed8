/** The fast reader of fetch bodies either agrees with the full parser or leaves the body to it. */
import t from 'tap'
import { readPlainFetch } from '../../dist/api/bodies/plain-fetch.js'
import { readBody } from '../../dist/api/bodies/read-object.js'
import { shapes } from '../../dist/api/bodies/shapes.js'
import { isProblem } from '../../dist/api/problems.js'
import { seededRandom } from '../support/random.js'

const sizeMax = 1000

/** The full parser's result for a body. */
function parseInFull(text: string): object | 'refused' {
  const body = readBody(Buffer.from(text), shapes.fetch, { sizeMax })
  return isProblem(body) ? 'refused' : body
}

t.test('the fast reader handles the bodies that nearly every client sends', (t) => {
  const bodies: readonly object[] = [
    { path: 'a/b c' },
    { selector: '?a/.*//' },
    { path: 'a', type: 'string' },
    { selector: '>a', after: 'a/b', type: 'json' },
    { selector: '>a', size: 1 },
    { size: sizeMax, selector: '>a' },
  ]
  for (const body of bodies) {
    const text = JSON.stringify(body)
    const spaced = text.replaceAll(/(?<=")([:,])(?=")/g, '$1 ')
    for (const printed of [text, spaced]) t.strictSame(readPlainFetch(Buffer.from(printed), sizeMax), body, printed)
  }
  t.end()
})

t.test('the fast reader leaves all other bodies to the full parser', (t) => {
  const bodies = [
    ...['', '{', '}', '{}', '{"', '{"}', '{"path"}', '{"path":}', '{"path":"}', '{"path":"a"', '{"path":"a",}'],
    ...['{"path":"a"}}', '[]', '{"path":"a"} ', ' {"path":"a"}', '{"path":"a","path":"b"}', '{"path":"a","":"b"}'],
    ...['{"path":"a","value":"b"}', '{"path":"a\\u0041"}', '{"path":"ä"}', '{"path":"a\tb"}', '{"path":null}'],
    ...['{"path":5}', '{"size":"5"}', '{"size":5,"size":5}', `{"size":${sizeMax + 1}}`, '{"size":0}', '{"size":05}'],
    ...['{"size":-1}', '{"size":1.0}', '{"size":1e1}', '{"size":99999999999999999999}', '{"size":}', '{"size":5'],
    ...['{"type":"text"}', '{"type":"JSON"}', '{"path":"a","type":"any"}', '{"path":"a","with_values":true}'],
    ...['{"selector":">a","with_properties":false}', '{"selector":">a","deep_branch_depth":1,"deep_branch_limit":1}'],
    ...['{"p\\u0061th":"a"}', '{"path":"a"  ,"type":"json"}', '{"path":"a";"type":"json"}', '{"path"="a"}'],
  ]
  for (const text of bodies) t.equal(readPlainFetch(Buffer.from(text), sizeMax), undefined, text)
  t.end()
})

t.test('the fast reader agrees with the full parser on random bodies', (t) => {
  const { below, pick } = seededRandom(t)
  const pieces = [
    ...['{', '}', '"', ':', ',', ' ', '\\', '"path"', '"selector"', '"type"', '"size"', '"after"', '"json"'],
    ...['"string"', '"a/b"', '"?a//"', '10', '0', '1e2', '-', 'null', 'é', '\n', '{"path":"x"}', '"x"'],
  ]
  let fast = 0
  for (let round = 0; round < 50_000; round++) {
    const members = Array.from({ length: 1 + below(3) }, () => {
      const name = pick(['"path"', '"selector"', '"type"', '"size"', '"after"', '"other"'])
      return `${name}:${pick(['"a/b"', '"json"', '"string"', '10', '10.0', '1001', '1.0000000000000000001', '1e1', '-0', '007', '"\\n"', '"é"', 'true'])}`
    })
    let text = `{${members.join(pick([',', ', ']))}}`
    if (round % 2 === 0) {
      const at = below(text.length + 1)
      text = text.slice(0, at) + pick(pieces) + text.slice(at + below(3))
    }
    const quick = readPlainFetch(Buffer.from(text), sizeMax)
    if (quick === undefined) continue
    fast++
    const full = parseInFull(text)
    if (JSON.stringify(full) !== JSON.stringify(quick))
      t.fail(`${text}: ${JSON.stringify(quick)}, but ${JSON.stringify(full)} from the full parser`)
  }
  t.ok(fast > 1000, `the fast reader read ${fast} bodies`)
  t.end()
})
