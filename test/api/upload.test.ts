/** Uploads of lines: each is carried out on its own while others arrive, and the answer says how far it is. */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { scrape } from '../support/service/metrics.js'
import { overStores } from '../support/service/over-stores.js'
import { until } from '../support/service/server.js'
import { UploadRequest, upload } from '../support/service/upload.js'

/** Operations that set the topics below a path to their numbers. */
function numbered(below: string, from: number, count: number): string {
  const lines = Array.from(
    { length: count },
    (_, i) => `{"op":"addAndSet","path":"${below}/${from + i}","value":${from + i}}\n`,
  )
  return lines.join('')
}

await overStores(t, async (t, server) => {
  const { post } = server
  await post('remove', { selector: '*.*' })

  await t.test('each line is an operation, and those that are refused are listed by their numbers', async (t) => {
    const lines = await upload(
      server,
      [
        '{"op":"addAndSet","path":"a","value":1}',
        '{"op":"set","path":"nothing","value":1}\r',
        '',
        '   ',
        'not JSON',
        '[]',
        '{"op":"increment","path":"a","increment":0.5}',
        '{"op":"none"}',
        '{"op":"set","path":"a//b","value":1}',
        '{"op":"add","path":"b"}',
        '{"op":"remove","path":"b"}',
        '{"op":"set","path":"a","value":12345678901234567890,"constraint":{"value":1.5}}',
      ].join('\n'),
    )
    t.strictSame(
      lines.map(({ line, code, ...others }) => (line === undefined ? others : [line, code])),
      [
        [2, 'no_such_topic'],
        [5, 'invalid_json'],
        [6, 'invalid_body'],
        [8, 'invalid_parameter'],
        [9, 'invalid_path'],
        { done: true, durable: 5, refused: 5 },
      ],
    )
    t.match(
      lines.map(({ message = '' }) => message),
      [/^There is no topic/, /^The line is not valid JSON: /, /^The line must be a JSON object, but it is an array/],
    )
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":12345678901234567890}', 'the last')
  })

  await t.test('thousands of lines are carried out in their order, and counted after each thousand', async (t) => {
    const text = numbered('u', 0, 5500) + numbered('u', 0, 1).replace('"value":0', '"value":"last"')
    for (const length of [undefined, text.length]) {
      const request = new UploadRequest(server, length)
      for (let at = 0; at < text.length; at += 7777) await request.write(text.slice(at, at + 7777))
      const lines = await request.end()
      t.strictSame(lines.at(-1), { done: true, durable: 5501, refused: 0 })
      const counts = lines.slice(0, -1).map(({ durable = 0 }) => durable)
      t.ok(
        counts.every((count, i) => count > (counts[i - 1] ?? 0)),
        counts.join(),
      )
      for (const count of [1000, 2000, 3000, 4000, 5000]) t.ok(counts.includes(count), `${count} of ${counts}`)
      t.equal(request.response?.headers['content-type'], 'application/x-ndjson')
      gives(t, await post('fetch', { path: 'u/0' }), '{"path":"u/0","type":"json","value":"last"}', 'in order')
      gives(t, await post('fetch', { selector: '*u//', count: true }), '{"count":5500}', 'all are there')
    }
  })

  await t.test('a slow source is answered line by line, and what was said is there', async (t) => {
    const request = new UploadRequest(server)
    for (let i = 1; i <= 3; i++) {
      await request.write(`{"op":"addAndSet","path":"slow","value":${i}}\n`)
      await until(`line ${i} is durable`, async () => (request.last?.durable === i ? true : undefined))
      gives(t, await post('fetch', { path: 'slow' }), `{"path":"slow","type":"json","value":${i}}`, 'it is there')
    }
    await request.write('{"op":"addAndSet","path":"slow","val')
    request.close()
    await post('set', { path: 'slow', value: 'mine' })
    gives(
      t,
      await post('fetch', { path: 'slow' }),
      '{"path":"slow","type":"json","value":"mine"}',
      'half a line is none',
    )
  })

  await t.test('without being asked for progress, the answer comes at the end', async (t) => {
    const request = new UploadRequest({ ...server, showsProgress: false })
    await request.write(numbered('unasked', 0, 2000))
    await until(
      'they are durable',
      async () => (await post('fetch', { path: 'unasked/1999' })).status === 200 || undefined,
    )
    t.equal(request.response, undefined)
    const lines = await request.end(numbered('unasked', 2000, 1))
    t.strictSame(lines.at(-1), { done: true, durable: 2001, refused: 0 })
    t.ok(
      lines.some(({ durable }) => durable === 1000),
      'it has the same lines',
    )
  })

  await t.test('a line may be as long as a body, and one that is longer is refused on its own', async (t) => {
    const bytesMax = 1024 * 1024
    const head = '{"op":"addAndSet","path":"long","value":"'
    const lineOf = (bytes: number): string => `${head}${'x'.repeat(bytes - head.length - 2)}"}`
    const lines = await upload(
      server,
      [lineOf(bytesMax), lineOf(bytesMax + 1), lineOf(3 * bytesMax), lineOf(50)].join('\n'),
    )
    t.strictSame(
      lines.filter(({ line }) => line !== undefined).map(({ line, code }) => [line, code]),
      [
        [2, 'line_too_long'],
        [3, 'line_too_long'],
      ],
    )
    t.strictSame(lines.at(-1), { done: true, durable: 2, refused: 2 })
  })

  await t.test('metrics show what is received, and its bytes', async (t) => {
    const before = (await scrape(server.adminUrl)).value('topicd_upload_bytes_total')
    const text = numbered('metrics', 0, 10)
    const request = new UploadRequest(server)
    await request.write(text)
    await until(
      'it is received',
      async () => (await scrape(server.adminUrl)).value('topicd_uploads') === 1 || undefined,
    )
    await request.end()
    const after = await scrape(server.adminUrl)
    t.equal(after.value('topicd_upload_bytes_total') - before, text.length)
    t.equal(after.value('topicd_uploads'), 0)
  })

  await t.test('no lines are nothing to do', async (t) => {
    t.strictSame(await new UploadRequest(server, 0).end(), [{ done: true, durable: 0, refused: 0 }])
    t.strictSame(await upload(server, ''), [{ done: true, durable: 0, refused: 0 }])
    t.strictSame(await upload(server, '\n\n'), [{ done: true, durable: 0, refused: 0 }])
  })

  await t.test('what the key may not do is refused on its own; without a key all is', async (t) => {
    const token = await server.addKey('upload-below-k', { allow: ['set', 'add'], under: ['k'] })
    const text = `${numbered('k', 0, 2)}${numbered('other', 0, 1)}{"op":"remove","path":"k/0"}\n`
    const lines = await upload({ ...server, token }, text)
    t.strictSame(
      lines.map(({ code, durable }) => code ?? durable),
      ['forbidden_path', 'forbidden_operation', 2],
    )
    const unknown = new UploadRequest({ ...server, token: 'unknown' })
    await unknown.end(text).catch(() => {})
    t.equal(unknown.response?.statusCode, 401)
  })

  await t.test('other routes take no lines', async (t) => {
    const options = { headers: { 'content-type': 'application/x-ndjson' } }
    refuses(t, await post('set', '{"path":"a","value":1}', options), 415, 'unsupported_media_type', 'set')
  })
})
