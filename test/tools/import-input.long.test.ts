/**
 * An import whose input cannot be read exits with 1 and reports the reason, but neither empty input nor a damaged store. An
 * import that ends at an invalid line announces the keys before it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashToken, makeToken } from '../../dist/auth/token.js'
import { runCommand, startServer } from '../support/service/server.js'
import { importFrom } from '../support/service/tool-client.js'

const importedFrom = (file: string, data: string) => importFrom(file, data, '--allow-unfinished')

async function expectations(t: Test, data: string): Promise<void> {
  const existed = existsSync(data)
  t.strictSame(await importedFrom('/', data), { code: 1, stderr: 'topicd: standard input is a directory\n' })
  t.equal(existsSync(data), existed, 'no store is created for a directory')
  const { code, stderr } = await importedFrom('/proc/self/mem', data)
  t.equal(code, 1)
  t.match(stderr, /^topicd: standard input cannot be read: EIO: i\/o error, read$/m, 'a read error')
  t.notMatch(stderr, 'damaged')
}

t.test('without a service, an import of unreadable input reports the reason and exits with 1', (t) =>
  expectations(t, join(t.testdir(), 'db')),
)

t.test('with a running service, an import of unreadable input reports the reason and exits with 1', async (t) =>
  expectations(t, (await startServer(t)).dataDir),
)

t.test('a byte order mark before the first line is skipped', async (t) => {
  const server = await startServer(t)
  const input = '\ufeff{"path":"marked","type":"json","value":1}\n'
  const { code, stderr } = await runCommand(['import', '--allow-unfinished', '--data', server.dataDir], {}, input)
  t.equal(code, 0, stderr)
  t.equal((await server.post('fetch', { path: 'marked' })).status, 200)
})

t.test('workers learn the keys of an import that stops at an invalid line', async (t) => {
  const server = await startServer(t)
  const token = makeToken()
  const record = { name: 'carried', tokenHash: hashToken(token), allow: ['fetch'], under: [], madeMs: 1 }
  const input = `${JSON.stringify({ key: record })}\n{"path":\n`
  const { code, stderr } = await runCommand(['import', '--with-keys', '--data', server.dataDir], {}, input)
  t.equal(code, 1)
  t.match(stderr, /^topicd: line 2: /)
  await server.knows(token)
  t.pass('the key is accepted')
})
