/**
 * Values are returned exactly as sent, byte for byte; only white space between tokens may be dropped.
 */
import t, { type Test } from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { exactValues, printable } from '../support/models/exact-values.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post }) => {
  /** Sets a value and fetches it by path and on a page; both must return exactly this JSON. */
  async function comesBack(t: Test, text: string, expectation: string): Promise<void> {
    gives(t, await post('set', `{"path":"v","value":${text}}`), '{"path":"v"}', `set: ${expectation}`)
    const item = `{"path":"v","type":"json","value":${text}}`
    gives(t, await post('fetch', { path: 'v' }), item, `fetch: ${expectation}`)
    gives(t, await post('fetch', { selector: '>v' }), `{"has_more":false,"results":[${item}]}`, `page: ${expectation}`)
  }

  await post('add', { path: 'v' })

  await t.test('a fetch returns numbers, names, escapes and characters exactly as they were set', async (t) => {
    for (const text of exactValues) await comesBack(t, text, printable(text.slice(0, 60)))
  })

  await t.test('addAndSet keeps the exact text of a value of either type', async (t) => {
    gives(t, await post('addAndSet', '{"path":"w","value":1.10}'), '{"path":"w","created":true}', 'json')
    gives(t, await post('fetch', { path: 'w' }), '{"path":"w","type":"json","value":1.10}', 'json is returned')
    for (const text of ['"\\u0041"', '"\\ud800"', '"😀"', '""']) {
      await post('addAndSet', `{"path":"s","type":"string","value":${text}}`)
      gives(t, await post('fetch', { path: 's', type: 'string' }), `{"path":"s","type":"string","value":${text}}`, text)
    }
  })

  await t.test('a value is found at any position in the body', async (t) => {
    for (const body of [
      '{"value":1.10,"path":"v"}',
      '{"path":"v","value":1.10,"type":"json"}',
      '{"path":"v","v\\u0061lue":1.10}',
      '{"path":"v","\\u0076\\u0061\\u006c\\u0075\\u0065":1.10}',
      ' \n\t\r{ "path" : "v" , "value" : 1.10 } \r\n\t ',
      '{"path"\n:\n"v"\n,\n"value"\n:\n1.10\n}',
    ]) {
      await post('set', { path: 'v', value: 'before' })
      gives(t, await post('set', body), '{"path":"v"}', `set: ${JSON.stringify(body)}`)
      gives(t, await post('fetch', { path: 'v' }), '{"path":"v","type":"json","value":1.10}', JSON.stringify(body))
    }
    await post('set', '{"path":"v","value":{"value":2.20,"path":"x"}}')
    const nested = '{"path":"v","type":"json","value":{"value":2.20,"path":"x"}}'
    gives(t, await post('fetch', { path: 'v' }), nested, 'a member named value inside the value')
  })

  await t.test('only white space between tokens may be dropped, never white space inside strings', async (t) => {
    const spaced = '[ 1.10 ,\n\t{ "a  b" :\r\n"  c  \\t d " } , [ ] ]'
    await post('set', `{"path":"v","value":${spaced}}`)
    const { text } = await post('fetch', { path: 'v' })
    const value = text.slice('{"path":"v","type":"json","value":'.length, -1)
    const withoutSpace = (json: string) =>
      json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part[0] === '"' ? part : ''))
    t.equal(withoutSpace(value), withoutSpace(spaced), 'everything else is unchanged')
    t.notMatch(value, /[\t\r\n]/, 'a response is one line')
  })

  await t.test('a value nested 1,000 levels deep is returned exactly', async (t) => {
    const levels = 1000
    await comesBack(t, '['.repeat(levels) + ']'.repeat(levels), 'arrays')
    await comesBack(t, `${'{"a":'.repeat(levels)}1.10${'}'.repeat(levels)}`, 'objects')
    await comesBack(t, `${'[{"a":'.repeat(levels / 2)}"]}"${'}]'.repeat(levels / 2)}`, 'both')
    const open = await post('set', `{"path":"v","value":${'['.repeat(levels)}}`)
    refuses(t, open, 400, 'invalid_json', 'brackets that never close')
  })

  await t.test('long strings are returned exactly, up to 512 KiB and around 64 KiB', async (t) => {
    for (const length of [100_000, 65_535, 65_536, 65_537, 524_288])
      await comesBack(t, `"${'x'.repeat(length)}"`, `${length} bytes`)
    for (const length of [1, 2, 3])
      await comesBack(t, `"${'😀é'.repeat(20_000)}${'x'.repeat(length)}"`, `${length} and 120,000 bytes`)
    await comesBack(t, `"${'\\\\'.repeat(50_000)}"`, 'backslashes')
    await comesBack(t, `"${'\\u0041'.repeat(20_000)}"`, 'escapes')
  })
})
