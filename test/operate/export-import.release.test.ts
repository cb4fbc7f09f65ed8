/**
 * Export and import: a round trip gives the same bytes for any values, and an invalid line is named with the reason.
 *
 * TOPICS=1000000 runs the last round trip with that many topics.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { storedForms } from '../../dist/store/topics.js'
import { importTool } from '../../dist/tools/import.js'
import type { Path } from '../../dist/topics/path.js'
import { first } from '../support/elements.js'
import { runCommand, startServer } from '../support/service/server.js'
import { openStore, single } from '../support/stores/store.js'

const topics = Number(process.env.TOPICS ?? 20_000)

/** Far more than the round trip takes with that many topics. */
const deadlineMs = 20_000 + topics

const directory = t.testdir()
const dataDir = (name: string): string => join(directory, name)

const exported = async (name: string, ...flags: readonly string[]) =>
  (await runCommand(['export', '--data', dataDir(name), ...flags], {}, '', deadlineMs)).stdout

const imported = (name: string, input: string | Buffer, ...flags: readonly string[]) =>
  runCommand(['import', '--data', dataDir(name), ...flags], {}, input, deadlineMs)

/** Topics with unusual paths, properties and values, as the lines of an export, in tree order. */
const odd = [
  '{"path":" ","type":"json","properties":{},"value":-0}',
  '{"path":"\\u0001","type":"json","properties":{},"value":1e400}',
  '{"path":"\\"quoted\\\\\\"","type":"string","properties":{},"value":"\\u0000\\u2028 \\ud800 \\/ é 😀"}',
  '{"path":"a","type":"json","properties":{},"value":{"b":1.10,"a":12345678901234567890,"b":[ ] , "" : null}}',
  '{"path":"a/b","type":"json","properties":{"DONT_RETAIN_VALUE":"true","é":"","__proto__":"1"}}',
  '{"path":"a/c","type":"string","properties":{"REMOVAL":"when no updates for 30d remove \'*a//\'"},"value":""}',
  '{"path":"a/d/e/f","type":"string","properties":{}}',
  '{"path":"a-b","type":"json","properties":{"VALIDATE_VALUES":"true"}}',
  `{"path":"deep","type":"json","properties":{},"value":${'['.repeat(1000)}${']'.repeat(1000)}}`,
  `{"path":"large","type":"string","properties":{},"value":"${'é'.repeat(200_000)}"}`,
  '{"path":"null","type":"json","properties":{},"value":null}',
  '{"path":"é/日本","type":"json","properties":{},"value":"{\\"path\\":\\"x\\",\\"value\\":1}"}',
].sort((a, b) => (treeKey(a) < treeKey(b) ? -1 : 1))

function treeKey(line: string): string {
  return Buffer.from((JSON.parse(line) as { path: string }).path.replaceAll('/', '\0')).toString('latin1')
}

const endOf = (count: number): string => `{"end":{"topics":${count},"keys":0}}\n`

const all = odd.map((line) => `${line}\n`).join('') + endOf(odd.length)

await t.test('an export, imported and exported again, gives the same bytes with and without a service', async (t) => {
  const first = await imported('first', all)
  t.match(first, { code: 0, stdout: '12 topics imported, 12 of them new; 0 API keys imported\n', stderr: '' })
  t.equal(await exported('first'), all, 'the export has the bytes of the import')

  const server = await startServer(t, { workers: 2, dataDir: dataDir('second') })
  const second = await imported('second', all)
  t.match(second, { code: 0, stdout: '12 topics imported, 12 of them new; 0 API keys imported\n' })
  t.equal(await exported('second'), all, 'while a service runs')
  const { text } = await server.post('fetch', { path: 'a' })
  t.equal(text, '{"path":"a","type":"json","value":{"b":1.10,"a":12345678901234567890,"b":[ ] , "" : null}}')
  t.match(
    await imported('second', all),
    { code: 0, stdout: /^12 topics imported, 0 of them new/ },
    'importing again changes nothing',
  )
  t.equal(await exported('second'), all)
  t.match(await imported('third', all.slice(0, -1)), { code: 0 }, 'without the last line end')
  t.equal(await exported('third'), all, 'the last line counts')
  t.match(await imported('third', `\n\n${all}\n`), { code: 0 }, 'with empty lines')
  t.equal(await exported('third'), all)
})

await t.test('an export with a selector contains only its matches', async (t) => {
  const lines = await exported('first', '--selector', '*a//')
  const matched = odd.filter((line) => /^\{"path":"a["/]/.test(line))
  t.equal(lines, matched.map((line) => `${line}\n`).join('') + endOf(matched.length))
  t.equal(await exported('first', '--selector', '>nothing'), endOf(0))
  t.match(await runCommand(['export', '--data', dataDir('first'), '--selector', '$a']), {
    code: 2,
    stderr: /^topicd: --selector /,
  })
})

await t.test('an import names an invalid line and stores only the lines before it', async (t) => {
  const cases: readonly (readonly [line: string | Buffer, reason: RegExp])[] = [
    ['{"path":"x"', /It is not valid JSON: found the end at byte 12, expected "," or "}"\./],
    [Buffer.from('{"path":"\xff","value":1}', 'latin1'), /It is not valid UTF-8\./],
    ['{"path":"before","type":"string"}', /The topic at the path "before" is of type json, not string\./],
    [
      '{"path":"before","properties":{"DONT_RETAIN_VALUE":"true"},"value":1}',
      /A topic with other properties already exists at the path "before"/,
    ],
  ]
  const [firstLine, firstReason] = first(cases)
  const input = (line: string | Buffer): Buffer =>
    Buffer.concat([
      Buffer.from('{"path":"before","value":1}\n\n'),
      Buffer.from(line),
      Buffer.from('\n{"path":"later","value":1}\n'),
    ])
  const { code, stdout, stderr } = await imported('wrong', input(firstLine))
  t.strictSame({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, firstReason)
  t.match(stderr, /^topicd: line 3: .* All earlier lines were imported; continue with --from-line 3\.\n$/)
  t.equal(
    await exported('wrong'),
    `{"path":"before","type":"json","properties":{},"value":1}\n${endOf(1)}`,
    'nothing after the invalid line was stored',
  )

  const store = openStore(t, dataDir('cases'))
  for (const [line, reason] of cases) {
    async function* lines(): AsyncGenerator<Uint8Array> {
      yield input(line)
    }
    const signal = new AbortController().signal
    const io = { emit: async () => {}, input: lines(), signal, diskFreeBytesMin: 0 }
    await t.rejects(importTool(store, { fromLine: 1, withKeys: false }, io), { message: reason }, String(line))
    t.equal(
      store.readTopic('later' as Path, storedForms.json),
      'no_such_topic',
      `nothing after the invalid line was stored: ${String(line)}`,
    )
  }
})

await t.test('an interrupted import names the first line that was not stored', async (t) => {
  const store = openStore(t, dataDir('ended'))
  const lineCount = 5000
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let i = 1; i <= lineCount; i++) yield Buffer.from(`{"path":"l/${i}","value":${i}}\n`)
  }
  const stored = async (): Promise<number> => (await store.stats()).topics

  let writes = 0
  const failing = Object.assign(Object.create(store) as typeof store, {
    write: async (...args: Parameters<typeof store.write>) => {
      if (++writes === 3) throw new Error('the PostgreSQL server cannot be reached')
      return store.write(...args)
    },
  })
  const io = { emit: async () => {}, input: lines(), signal: new AbortController().signal, diskFreeBytesMin: 0 }
  await t.rejects(importTool(failing, { fromLine: 1, withKeys: false }, io), {
    message:
      'line 2001: the PostgreSQL server cannot be reached. All earlier lines were imported; continue with --from-line 2001.',
  })
  t.equal(await stored(), 2000)

  const stop = new AbortController()
  async function* stopped(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${'{"path":"m/1","value":1}\n'.repeat(2)}{"path":"m/2","value":1}\n`)
    stop.abort(new Error('the caller has disconnected'))
    throw new Error('the connection ended')
  }
  const stoppedIo = { ...io, input: stopped(), signal: stop.signal }
  await t.rejects(importTool(store, { fromLine: 1, withKeys: false }, stoppedIo), {
    message:
      'line 2: the import was stopped because the caller has disconnected. All earlier lines were imported; continue with --from-line 2.',
  })
  t.equal(await stored(), 2001, 'waiting lines were not written')
})

await t.test('an import continues at the line that --from-line names', async (t) => {
  const input = `not a line\n${all}`
  t.match(await imported('later', input), { code: 1, stderr: /line 1:/ })
  t.match(await imported('later', input, '--allow-unfinished', '--from-line', '2'), {
    code: 0,
    stdout: /^12 topics imported/,
  })
  t.equal(await exported('later'), all)
  t.match(await imported('later', input, '--from-line', '15'), {
    code: 1,
    stdout: '',
    stderr: 'topicd: --from-line is 15, but the input has only 14 lines\n',
  })
  t.match(await imported('later', input, '--from-line', '0'), { code: 2, stderr: /--from-line is "0"/ })
})

await t.test('API keys are exported and imported only with --with-keys, and never as tokens', async (t) => {
  const rights = ['--allow', 'fetch', '--under', 'a']
  const { stdout: token } = await runCommand(['keys', 'add', 'carried', ...rights, '--data', dataDir('first')])
  t.equal(await exported('first'), all, 'keys are not exported without the flag')
  const lines = await exported('first', '--with-keys')
  t.match(
    lines,
    /^\{"key":\{"name":"carried","tokenHash":"[0-9a-f]{64}","allow":\["fetch"\],"under":\["a"\],"madeMs":\d+\}\}\n/,
  )
  t.notOk(lines.includes(token.trim()))
  t.match(await imported('keyless', lines), {
    code: 0,
    stdout: /0 API keys imported; 1 API keys left out \(see --with-keys\)\n$/,
  })
  t.match(await imported('keyed', lines, '--with-keys'), { code: 0, stdout: /1 API keys imported\n$/ })
  t.equal(await exported('keyed', '--with-keys'), lines)
  const server = await startServer(t, { dataDir: dataDir('keyed'), token: token.trim() })
  t.match(await server.post('fetch', { path: 'a' }), { status: 200 }, 'the old token works')
  t.match(await server.post('fetch', { path: 'null' }), { status: 403 }, 'the restrictions of the old token apply')
  t.match(await imported('keyless', '{"key":{"name":"x"}}\n', '--with-keys'), { code: 1, stderr: /line 1: / })
})

await t.test('the limits and former token hashes of API keys are exported and imported', async (t) => {
  const run = (...args: readonly string[]) => runCommand(['keys', ...args, '--data', dataDir('limited')])
  const { stdout: token } = await run('add', 'limited', '--create', '--expires', '30d', '--rate', '1000000')
  const { stdout: next } = await run('rotate', 'limited')
  const lines = await exported('limited', '--with-keys')
  t.match(
    lines,
    /^\{"key":\{"name":"limited",.*,"madeMs":\d+,"expiresMs":\d+,"rate":1000000,"former":\{"tokenHash":"[0-9a-f]{64}","untilMs":\d+\}\}\}\n\{"end":\{"topics":0,"keys":1\}\}\n$/,
  )
  t.match(await imported('limited-copy', lines, '--with-keys'), { code: 0, stdout: /1 API keys imported\n$/ })
  t.equal(await exported('limited-copy', '--with-keys'), lines)
  const server = await startServer(t, { dataDir: dataDir('limited-copy'), token: next.trim() })
  t.match(await server.post('add', { path: 'a' }, { token: token.trim() }), { status: 200 }, 'both tokens work')
  const key = { name: 'x', tokenHash: '0'.repeat(64), allow: [], under: [], madeMs: 1 }
  for (const [wrong, problem] of [
    [{ name: 'a*b' }, '"key.name" is the string "a*b"; it must be 1 to 64 letters, digits or any of . _ @ -.'],
    [{ rate: 0 }, 'Parameter "key.rate" must be an integer from 1 to 1000000, not the number 0.'],
    [{ expiresMs: -1 }, '"key.expiresMs" must be an integer from 0 to 253402300799999, not the number -1.'],
    [{ former: { tokenHash: 'x', untilMs: 1 } }, '"key.former.tokenHash"'],
    [{ later: 1 }, 'Unknown parameter "key.later"'],
    [{ allow: ['admin'], under: ['a'] }, 'The key "x" cannot be imported: a key with the permission admin'],
  ] as const) {
    const line = `${JSON.stringify({ key: { ...key, ...wrong } })}\n`
    const refused = await imported('keyless', line, '--with-keys')
    t.equal(refused.code, 1)
    t.ok(refused.stderr.includes(problem), refused.stderr)
  }
})

await t.test(`an export of ${topics} topics is the same after an import`, { timeout: 600_000 }, async (t) => {
  mkdirSync(dataDir('many'))
  const store = openLmdbStore({ directory: dataDir('many') })
  for (let i = 0; i < topics; ) {
    const writes: Promise<unknown>[] = []
    for (const end = Math.min(i + 2000, topics); i < end; i++) {
      const type = i % 10 === 0 ? 'string' : 'json'
      const value =
        type === 'string' ? `"value ${i}"` : `{"t":${(i * 0.1).toFixed(2)},"n":12345678901234567890,"u":"é${i}"}`
      const path = `site/${i % 100}/device/${Math.floor(i / 100)}/temperature` as Path
      writes.push(single.addAndSet(store, { path, type, properties: {}, removal: undefined }, Buffer.from(value)))
    }
    await Promise.all(writes)
  }
  await store.close()
  const lines = await exported('many')
  t.equal(lines.split('\n').length, topics + 2)
  t.match(await imported('again', lines), { code: 0, stderr: '' })
  t.ok((await exported('again')) === lines, 'the same bytes')
})
