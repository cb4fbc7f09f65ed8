/**
 * `topicd copy` and `topicd rename` copy or move every topic at and below a path to another path, with its exact value, and nothing else.
 * Nothing is overwritten without a flag, and the same command continues after an interruption.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv, mainFile, runCommand, type Server, startServer, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

const line = (path: string, rest = '"value":1.10'): string =>
  `{"path":${JSON.stringify(path)},"type":"json","properties":{}${rest && `,${rest}`}}\n`

const imported = (input: string, data: string) =>
  runCommand(['import', '--allow-unfinished', '--data', data], {}, input).then(({ code, stderr }) =>
    assert.equal(code, 0, stderr),
  )

/** The topics of a store as an export has them, without its last line. */
async function topicsOf(data: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['export', '--data', data])
  assert.equal(code, 0, stderr)
  return stdout.replace(/\{"end".*\n$/, '')
}

const others = line('a-b') + line('ab/c')
const strange =
  line('a') + line('a/b', '"value":{"b":1e400,"b":"\\u0061"}') + line('a/b/"\\é\u{1f600}', '') + line('a/c')

const moved = (lines: string, to: string): string => lines.replaceAll('{"path":"a', `{"path":"${to}`)

for (const withService of [false, true]) {
  const place = withService ? 'through the running service' : 'without a service'
  t.test(`a subtree is copied and renamed exactly, ${place}`, async (t) => {
    const server: Server | undefined = withService ? await startServer(t) : undefined
    const data = server?.dataDir ?? join(t.testdir(), 'db')
    await imported(strange + others, data)
    t.match(await runCommand(['copy', 'a', 'z/y', '--data', data]), {
      code: 0,
      stdout: '4 topics copied\n',
      stderr: '',
    })
    t.equal(await topicsOf(data), strange + others + moved(strange, 'z/y'))
    t.match(await runCommand(['rename', 'z/y', 'b', '--data', data]), {
      code: 0,
      stdout: '4 topics renamed\n',
      stderr: '',
    })
    t.equal(await topicsOf(data), strange + others + moved(strange, 'b'))
  })
}

t.test('no topic is overwritten without --overwrite, and a copy skips topics that are already equal', async (t) => {
  const data = join(t.testdir(), 'db')
  const before = line('a/1') + line('a/2') + line('b/1') + line('b/2', '"value":2')
  await imported(before, data)
  const { code, stderr } = await runCommand(['copy', 'a', 'b', '--data', data])
  t.equal(code, 1)
  t.match(
    stderr,
    /^topicd: another topic already exists at "b\/2"; to replace it, use --overwrite; 1 of 2 topics are done$/m,
  )
  t.equal(await topicsOf(data), before)
  t.match(await runCommand(['rename', 'a', 'b', '--data', data]), {
    code: 1,
    stderr: /another topic already exists at "b\/1"/,
  })
  t.equal(await topicsOf(data), before, 'a rename of a batch with an occupied path changes nothing')
  t.match(await runCommand(['rename', 'a', 'b', '--overwrite', '--data', data]), { code: 0 })
  t.equal(await topicsOf(data), line('b/1') + line('b/2'))
})

t.test('unsuitable paths are rejected, and nothing changes', async (t) => {
  const data = join(t.testdir(), 'db')
  const long = 'x'.repeat(1970)
  await imported(line('a') + line(`a/${long}`), data)
  for (const [from, to, reason] of [
    ['a', 'a', /must not contain each other/],
    ['a', 'a/b', /must not contain each other/],
    ['a/b', 'a', /must not contain each other/],
    ['a', 'b//c', /NEW has an empty segment/],
    ['none', 'b', /there is no topic at or below "none"/],
    ['a', 'longer-than-a', /a path below "longer-than-a" has 1984 bytes of UTF-8/],
  ] as const) {
    const { code, stderr } = await runCommand(['copy', from, to, '--data', data])
    t.not(code, 0, `${from} to ${to}`)
    t.match(stderr, reason)
  }
  t.equal(await topicsOf(data), line('a') + line(`a/${long}`))
})

t.test('a killed rename loses no topic, and the same command completes it', async (t) => {
  const server = await startServer(t)
  const count = 30_000
  const all = Array.from({ length: count }, (_, number) => line(`a/${number}`, `"value":${number}`)).sort()
  await imported(all.join(''), server.dataDir)
  const command = spawn(...tied(process.execPath, [mainFile, 'rename', 'a', 'b', '--data', server.dataDir]), {
    env: cleanEnv(),
    stdio: 'ignore',
  })
  const counted = async (selector: string): Promise<number> =>
    (JSON.parse((await server.post('fetch', { selector, count: true })).text) as { count: number }).count
  await until('some topics are renamed', async () => ((await counted('*b//')) > 0 ? true : undefined))
  command.kill('SIGKILL')
  await once(command, 'close')
  t.equal((await topicsOf(server.dataDir)).split('\n').length, count + 1, 'each topic is at one of its paths')
  await until('the interrupted rename has ended', async () => {
    const { code } = await runCommand(['rename', 'a', 'b', '--data', server.dataDir])
    const left = await counted('*a//')
    return left === 0 ? (code ?? true) : undefined
  })
  t.equal(await topicsOf(server.dataDir), all.map((text) => text.replace('"a/', '"b/')).join(''))
})

t.test('a topic that changes during a rename stays at its old path', async (t) => {
  const server = await startServer(t)
  const all = Array.from({ length: 5000 }, (_, number) => line(`a/${number}`)).join('')
  await imported(all, server.dataDir)
  let value = 0
  let isOver = false
  const publisher = (async () => {
    while (!isOver) await server.post('set', { path: 'a/999', value: ++value })
  })()
  const { code, stderr } = await runCommand(['rename', 'a', 'b', '--data', server.dataDir])
  isOver = true
  await publisher
  const at = async (path: string) => JSON.parse((await server.post('fetch', { path })).text) as { value?: number }
  const [old, renamed] = [await at('a/999'), await at('b/999')]
  t.equal([old, renamed].filter(({ value }) => value !== undefined).length, 1, 'the topic is at exactly one path')
  if (code === 0) t.equal(typeof renamed.value, 'number')
  else t.match(stderr, /^topicd: 1 topic not renamed because of a change or removal in the meantime/m)
})

t.test('--overwrite replaces a topic together with its type and properties', async (t) => {
  const data = join(t.testdir(), 'db')
  const other = (path: string): string => `{"path":"${path}","type":"string","properties":{"X":"y"},"value":"s"}\n`
  await imported(line('a/1', '') + line('a/2') + other('b/1') + other('b/2') + other('b/3'), data)
  t.match(await runCommand(['copy', 'a', 'b', '--overwrite', '--data', data]), { code: 0 })
  t.equal(await topicsOf(data), line('a/1', '') + line('a/2') + line('b/1', '') + line('b/2') + other('b/3'))
  t.match(await runCommand(['rename', 'b', 'a', '--overwrite', '--data', data]), { code: 0 })
  t.equal(await topicsOf(data), line('a/1', '') + line('a/2') + other('a/3'))
})

t.test('a copy or rename that cannot continue stops and reports why, no matter how many topics are left', async (t) => {
  const server = await startServer(t)
  const count = 20_000
  const all = Array.from({ length: count }, (_, number) => line(`a/${100_000 + number}`)).join('')
  await imported(all + line('b/103000', '"value":2'), server.dataDir)
  for (const command of ['copy', 'rename']) {
    const { code, stderr } = await runCommand([command, 'a', 'b', '--data', server.dataDir])
    t.equal(code, 1)
    t.match(stderr, /^topicd: another topic already exists at "b\/10[03]000"; .* of \d+ topics are done$/m)
  }
})

t.test('two concurrent renames of one subtree leave each topic at exactly one path', async (t) => {
  const server = await startServer(t)
  const count = 20_000
  await imported(Array.from({ length: count }, (_, number) => line(`a/${number}`)).join(''), server.dataDir)
  const rename = (to: string) => runCommand(['rename', 'a', to, '--data', server.dataDir])
  await Promise.all([rename('b'), rename('c')])
  const paths = (await topicsOf(server.dataDir)).split('\n').slice(0, -1)
  t.equal(new Set(paths.map((text) => text.replace(/"[abc]\//, '"'))).size, count)
  t.equal(paths.length, count)
})
