/** Uploads of lines: each line is executed on its own while more arrive, and the response reports progress. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { scrape } from '../support/service/metrics.js'
import { overStores } from '../support/service/over-stores.js'
import { until } from '../support/service/server.js'
import { refusedUpload, UploadRequest, upload } from '../support/service/upload.js'

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

  await t.test('each line is an operation, and rejected lines are listed by number', async (t) => {
    const lines = await upload(
      { ...server, showsProgress: true },
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
      [/^There is no topic/, /^The line is not valid JSON: /, /^The line must be a JSON object, not an array/],
    )
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":12345678901234567890}', 'the value')
  })

  await t.test('thousands of lines are executed in order, and progress is reported after every 1,000', async (t) => {
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
      const isStream = request.response?.headers['content-length'] === undefined
      t.equal(isStream, length === undefined, 'a small body of announced length gets its response at the end')
      gives(t, await post('fetch', { path: 'u/0' }), '{"path":"u/0","type":"json","value":"last"}', 'in order')
      gives(t, await post('fetch', { selector: '*u//', count: true }), '{"count":5500}', 'all topics exist')
    }
  })

  await t.test('a rejected line makes the response an error unless progress is requested', async (t) => {
    const refused = '{"op":"set","path":"none","value":1}\n'
    const before = await scrape(server.adminUrl)
    const {
      lines = [],
      message,
      ...answer
    } = await refusedUpload(server, `${refused.repeat(150)}not JSON\n${numbered('partly', 0, 2000)}`)
    t.strictSame(answer, { status: 400, code: 'upload_refused', durable: 2000, refused: 151 })
    t.match(message, /rejected 151 .* applied the other 2000\.$/)
    t.strictSame(
      lines.map(({ line, code }) => [line, code]),
      Array.from({ length: 100 }, (_, i) => [i + 1, 'no_such_topic']),
    )
    t.equal(lines[0]?.message, 'There is no topic at the path "none".')
    gives(t, await post('fetch', { selector: '*partly//', count: true }), '{"count":2000}', 'durable lines stay')
    const after = await scrape(server.adminUrl)
    const more = (cause: string): number =>
      after.value('topicd_rejected_total', { cause }) - before.value('topicd_rejected_total', { cause })
    t.strictSame(['no_such_topic', 'invalid_json', 'upload_refused'].map(more), [150, 1, 1], 'all are counted')
    const operations = [{ op: 'remove', path: 'none' }, ...Array(3).fill({ op: 'set', path: 'none', value: 1 })]
    t.equal((await post('batch', { atomic: false, operations })).status, 200)
    const later = await scrape(server.adminUrl)
    t.equal(
      later.value('topicd_rejected_total', { cause: 'no_such_topic' }) -
        after.value('topicd_rejected_total', { cause: 'no_such_topic' }),
      3,
      'rejected operations of a batch are also counted',
    )
  })

  await t.test('the error for a body in another format names the format, and nothing is stored', async (t) => {
    const lines = numbered('else', 0, 1000)
    const objects = lines.trim().split('\n')
    const bodies: readonly (readonly [string | Buffer, RegExp])[] = [
      [`[${objects}]`, /JSON array/],
      [` \r\n\n[\n${objects.join(',\n')}\n]`, /JSON array/],
      [Buffer.from(lines, 'utf16le'), /UTF-16/],
      [Buffer.from(`\ufeff${lines}`, 'utf16le'), /UTF-16/],
      [Buffer.from(lines, 'utf16le').swap16(), /UTF-16/],
      [Buffer.from(`\ufeff${lines}`, 'utf16le').swap16(), /UTF-16/],
      [gzipSync(lines), /gzip/],
      [Buffer.concat([Buffer.from('28b52ffd', 'hex'), Buffer.from(lines)]), /zstd/],
      ...['', ' ', ',', '\r', ', ', '\\n', ';'].map(
        (between) => [objects.join(between), /several operations on its first line/] as const,
      ),
      [`[${lines.repeat(40)}]`.replaceAll('\n', ','), /JSON array/],
      [lines.repeat(40).replaceAll('\n', ''), /several operations on its first line/],
      ...[1, '\t'].map(
        (indent) => [`${JSON.stringify(JSON.parse(objects[0] ?? ''), undefined, indent)}\n`, /jq -c/] as const,
      ),
      [lines.replaceAll(',', ',\n'), /jq -c/],
      [`{"operations":[${objects}]}`, /is a batch/],
      [`{ "atomic": false, "operations": [\n${objects}\n]}\n`, /is a batch/],
    ]
    for (const [body, problem] of bodies) {
      for (const showsProgress of [true, false]) {
        const request = new UploadRequest({ ...server, showsProgress })
        await request.end(body)
        const { status, code, message } = request.refusal
        t.strictSame([status, code], [400, 'invalid_upload'], String(problem))
        t.match(message, problem)
      }
    }
    gives(t, await post('fetch', { selector: '*else//', count: true }), '{"count":0}', 'nothing was stored')
    const later = `not JSON\n[${objects[0]}]\n${objects[1]}${objects[2]}\n${objects[3]}`
    const { durable, refused } = await refusedUpload(server, later)
    t.strictSame([durable, refused], [1, 3], 'only the first line reveals the format')
  })

  await t.test('a byte order mark before the first line is skipped', async (t) => {
    const mark = Buffer.from('\ufeff')
    const lines = [{ done: true, durable: 2, refused: 0 }]
    t.match(await upload(server, `\ufeff${numbered('mark', 0, 2)}`), lines)
    const request = new UploadRequest({ ...server, showsProgress: false })
    for (const byte of mark) await request.write(Buffer.from([byte]))
    t.match(await request.end(numbered('mark', 0, 2)), lines)
    t.strictSame(await upload(server, mark), [{ done: true, durable: 0, refused: 0 }])
    const { lines: refused } = await refusedUpload(server, `${numbered('mark', 0, 1)}\ufeff${numbered('mark', 1, 1)}`)
    t.match(refused, [{ line: 2, code: 'invalid_json' }])
    refuses(t, await post('set', '\ufeff{"path":"mark/0","value":1}'), 400, 'invalid_json', 'other bodies')
  })

  await t.test('a client that sends lines slowly gets a count for each line once the line is durable', async (t) => {
    const request = new UploadRequest(server)
    for (let i = 1; i <= 3; i++) {
      await request.write(`{"op":"addAndSet","path":"slow","value":${i}}\n`)
      await until(`line ${i} is durable`, async () => (request.last?.durable === i ? true : undefined))
      gives(t, await post('fetch', { path: 'slow' }), `{"path":"slow","type":"json","value":${i}}`, 'the value')
    }
    await request.write('{"op":"addAndSet","path":"slow","val')
    request.close()
    await post('set', { path: 'slow', value: 'mine' })
    gives(
      t,
      await post('fetch', { path: 'slow' }),
      '{"path":"slow","type":"json","value":"mine"}',
      'half a line is not executed',
    )
  })

  await t.test('the response is sent at the end of the upload unless progress is requested', async (t) => {
    const request = new UploadRequest({ ...server, showsProgress: false })
    await request.write(numbered('unasked', 0, 2000))
    await until(
      'the lines are durable',
      async () => (await post('fetch', { path: 'unasked/1999' })).status === 200 || undefined,
    )
    t.equal(request.response, undefined)
    const lines = await request.end(numbered('unasked', 2000, 1))
    t.strictSame(lines.at(-1), { done: true, durable: 2001, refused: 0 })
    t.ok(
      lines.some(({ durable }) => durable === 1000),
      'the response has the same lines',
    )
  })

  await t.test('a line longer than the largest allowed body is rejected, but the other lines are not', async (t) => {
    const bytesMax = 1024 * 1024
    const head = '{"op":"addAndSet","path":"long","value":"'
    const lineOf = (bytes: number): string => `${head}${'x'.repeat(bytes - head.length - 2)}"}`
    const lines = await upload(
      { ...server, showsProgress: true },
      [`\ufeff${lineOf(bytesMax)}`, lineOf(bytesMax + 1), lineOf(3 * bytesMax), lineOf(50)].join('\n'),
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

  await t.test('metrics show current uploads and their bytes', async (t) => {
    const before = (await scrape(server.adminUrl)).value('topicd_upload_bytes_total')
    const text = numbered('metrics', 0, 10)
    const request = new UploadRequest(server)
    await request.write(text)
    await until(
      'the upload is being received',
      async () => (await scrape(server.adminUrl)).value('topicd_uploads') === 1 || undefined,
    )
    await request.end()
    const after = await scrape(server.adminUrl)
    t.equal(after.value('topicd_upload_bytes_total') - before, text.length)
    t.equal(after.value('topicd_uploads'), 0)
  })

  await t.test('an upload without lines succeeds', async (t) => {
    t.strictSame(await new UploadRequest(server, 0).end(), [{ done: true, durable: 0, refused: 0 }])
    t.strictSame(await upload(server, ''), [{ done: true, durable: 0, refused: 0 }])
    t.strictSame(await upload(server, '\n\n'), [{ done: true, durable: 0, refused: 0 }])
  })

  await t.test('lines that the key does not permit are rejected individually', async (t) => {
    const token = await server.addKey('upload-below-k', { allow: ['set', 'add'], under: ['k'] })
    const text = `${numbered('k', 0, 2)}${numbered('other', 0, 1)}{"op":"remove","path":"k/0"}\n`
    const { durable, lines } = await refusedUpload({ ...server, token }, text)
    t.equal(durable, 2)
    t.match(lines, [{ code: 'forbidden_path' }, { code: 'forbidden_operation' }])
    const unknown = new UploadRequest({ ...server, token: 'unknown' })
    await unknown.end(text).catch(() => {})
    t.equal(unknown.response?.statusCode, 401)
  })

  await t.test('routes other than batch do not accept an upload of lines', async (t) => {
    const options = { headers: { 'content-type': 'application/x-ndjson' } }
    refuses(t, await post('set', '{"path":"a","value":1}', options), 415, 'unsupported_media_type', 'set')
  })
})
