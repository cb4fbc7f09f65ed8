/** A writer that does not respond may have created the key: `keys add` must not call its token void. Faults are injected. */
import { join } from 'node:path'
import t from 'tap'
import { present } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { runCommand, startServer, until } from '../support/service/server.js'

/** Depending on the key's name, a request kills its writer after it has run, fails, or is overtaken by another request. */
const planted = (mark: string): string => `import { existsSync, writeFileSync } from 'node:fs'
import { keyResponse as sound } from './sound-key-requests.js'
export async function keyResponse(store, request) {
  const { name, formerHash } = request.rotation ?? request.record ?? {}
  if (request.command === 'addKey' && name === 'maybe') throw new Error('planted')
  if (request.command === 'rotateKey' && name === 'revoked') await store.revokeKey(name)
  if (request.command === 'rotateKey' && name === 'rotated')
    await store.rotateKey({ name, formerHash, tokenHash: '0'.repeat(64) })
  const response = await sound(store, request)
  const isFatal = request.command === 'addKey' ? name === 'made' && response === true : request.command === 'rotateKey' && name === 'turned'
  const mark = ${JSON.stringify(mark)} + request.command
  if (isFatal && !existsSync(mark)) {
    writeFileSync(mark, '')
    process.kill(process.pid, 'SIGKILL')
  }
  return response
}
`

const directory = t.testdir()
const program = patchedProgram(directory, 'cluster/key-requests.js', planted(join(directory, 'died-')))
const server = await startServer(t, { program, dataDir: join(directory, 'db'), workers: 2 })
const keys = (...args: readonly string[]) => runCommand(['keys', ...args, '--data', server.dataDir])
const mayAdd = async (token: string) => (await server.post('add', { path: 'a' }, { token })).status === 200

await t.test('keys add succeeds if the writer dies after it has committed the key', async (t) => {
  const { code, stdout, stderr } = await keys('add', 'made')
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
  await server.knows(stdout.trim())
  t.ok(await mayAdd(stdout.trim()), 'the token is valid')
})

await t.test('keys add reports that the key may exist if it gets no response', async (t) => {
  const { code, stdout, stderr } = await keys('add', 'maybe')
  t.equal(code, 1)
  t.match(stdout, /^topicd_[\w-]{43}\n$/)
  t.equal(
    stderr,
    'topicd: planted; the key may have been created, so its token may be valid; to be safe, run "topicd keys revoke maybe"\n',
  )
})

await t.test('keys rotate succeeds if the writer dies after the commit, and both tokens stay valid', async (t) => {
  const token = await server.addKey('turned')
  const { code, stdout } = await keys('rotate', 'turned')
  t.equal(code, 0)
  for (const each of [stdout.trim(), token]) {
    await server.knows(each)
    t.ok(await mayAdd(each))
  }
})

await t.test('keys rotate reports that its token is invalid if the key was changed at the same time', async (t) => {
  for (const name of ['revoked', 'rotated']) {
    await server.addKey(name)
    const { code, stdout, stderr } = await keys('rotate', name)
    t.equal(code, 1)
    t.match(stdout, /^topicd_/)
    t.equal(
      stderr,
      `topicd: the key "${name}" was revoked or rotated at the same time; the token printed above is not valid\n`,
    )
    t.equal((await server.post('fetch', {}, { token: stdout.trim() })).status, 401)
  }
  t.notMatch((await server.command('keys', 'list')).stdout, 'revoked', 'the revoked key is not resurrected')
})

await t.test('a key that is being revoked is rejected while the writer hangs', async (t) => {
  const token = await server.addKey('leaked')
  process.kill(present(server.writerPid()), 'SIGSTOP')
  const revoked = keys('revoke', 'leaked')
  let isDone = false
  void revoked.finally(() => (isDone = true))
  await until('both workers reject the key', async () => {
    const answers = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
    return (await Promise.all(answers)).every(({ status }) => status === 401) || undefined
  })
  t.notOk(isDone, 'the revocation is not stored yet')
  // The primary kills the writer, and the spare executes the revocation.
  t.strictSame(await revoked, {
    code: 0,
    stdout: '',
    stderr: 'topicd: the key may still be valid: waiting for the writer, its disk or a worker to respond\n',
  })
  t.equal((await server.post('fetch', {}, { token })).status, 401)
})
