/** A worker that gives no answer may have made the key: keys add must not call its token void. Faults are planted. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { present } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { runCommand, type Server, startServer, until } from '../support/service/server.js'

/** A service in which the requests about keys meet this, before they are carried out by `sound`. */
function startPatched(t: Test, planted: string, imports = ''): Promise<Server> {
  const directory = t.testdir()
  const program = patchedProgram(
    directory,
    'cluster/key-requests.js',
    `import { keyResponse as sound } from './sound-key-requests.js'
${imports}
export async function keyResponse(store, request) {
${planted}
}
`,
  )
  return startServer(t, { program, dataDir: join(directory, 'db') })
}

t.test('a worker that dies between its commit and its answer has made the key, and keys add succeeds', async (t) => {
  const server = await startPatched(
    t,
    `  const response = await sound(store, request)
  if (request.command === 'addKey' && request.record.name === 'made' && response === true) process.kill(process.pid, 'SIGKILL')
  return response`,
  )
  const { code, stdout, stderr } = await runCommand(['keys', 'add', 'made', '--data', server.dataDir])
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
  await server.knows(stdout.trim())
  t.equal((await server.post('add', { path: 'a' }, { token: stdout.trim() })).status, 200, 'the token is valid')
})

t.test('while no worker can answer, keys add says that the key may exist, and how to remove it', async (t) => {
  const server = await startPatched(
    t,
    `  if (request.command === 'addKey' && request.record.name === 'maybe') throw new Error('planted')
  return sound(store, request)`,
  )
  const { code, stdout, stderr } = await runCommand(['keys', 'add', 'maybe', '--data', server.dataDir])
  t.equal(code, 1)
  t.match(stdout, /^topicd_[\w-]{43}\n$/)
  t.equal(
    stderr,
    'topicd: planted; the key may have been created, and its token may be valid: topicd keys revoke maybe makes sure that it is not\n',
  )
})

t.test('a worker that dies after a rotation has made it, and its repetition keeps the former token good', async (t) => {
  const server = await startPatched(
    t,
    `  const response = await sound(store, request)
  const mark = ${JSON.stringify(join(t.testdirName, 'died'))}
  if (request.command === 'rotateKey' && !existsSync(mark)) {
    writeFileSync(mark, '')
    process.kill(process.pid, 'SIGKILL')
  }
  return response`,
    "import { existsSync, writeFileSync } from 'node:fs'",
  )
  const token = await server.addKey('turned')
  const { code, stdout } = await runCommand(['keys', 'rotate', 'turned', '--data', server.dataDir])
  t.equal(code, 0)
  for (const each of [stdout.trim(), token]) {
    await server.knows(each)
    t.equal((await server.post('add', { path: 'a' }, { token: each })).status, 200)
  }
})

t.test(
  'while the writer hangs, a key that is being revoked is refused, and the command says what it waits for',
  async (t) => {
    const server = await startServer(t, { workers: 2 })
    const token = await server.addKey('leaked')
    process.kill(present(server.writerPid()), 'SIGSTOP')
    const revoked = runCommand(['keys', 'revoke', 'leaked', '--data', server.dataDir])
    let isDone = false
    void revoked.finally(() => (isDone = true))
    await until('both workers refuse it', async () => {
      const answers = Array.from({ length: server.client.connections }, () => server.post('fetch', {}, { token }))
      return (await Promise.all(answers)).every(({ status }) => status === 401) || undefined
    })
    t.notOk(isDone, 'although it is not stored yet')
    // The primary kills the writer, and the spare carries the revocation out.
    t.strictSame(await revoked, {
      code: 0,
      stdout: '',
      stderr: 'topicd: the key may not be revoked yet: waiting for the writer, its disk or a worker to respond\n',
    })
    t.equal((await server.post('fetch', {}, { token })).status, 401)
  },
)

t.test('a rotation that is overtaken by another, or by a revocation, says that its token is void', async (t) => {
  const server = await startPatched(
    t,
    `  if (request.command === 'rotateKey') {
    const { name, formerHash } = request.rotation
    if (name === 'revoked') await store.revokeKey(name)
    else await store.rotateKey({ name, formerHash, tokenHash: '0'.repeat(64) })
  }
  return sound(store, request)`,
  )
  for (const name of ['revoked', 'rotated']) {
    await server.addKey(name)
    const { code, stdout, stderr } = await runCommand(['keys', 'rotate', name, '--data', server.dataDir])
    t.equal(code, 1)
    t.match(stdout, /^topicd_/)
    t.equal(
      stderr,
      `topicd: the key "${name}" was revoked or rotated at the same time; the token that was just printed is void\n`,
    )
    t.equal((await server.post('fetch', {}, { token: stdout.trim() })).status, 401)
  }
  t.notMatch((await server.command('keys', 'list')).stdout, 'revoked', 'it is not resurrected')
})

t.test('a service of an earlier version, which knows no rotation, is named at once', async (t) => {
  const directory = t.testdir()
  const program = patchedProgram(
    directory,
    'cluster/control/protocol.js',
    `import { parseRequest as sound } from './sound-protocol.js'
export * from './sound-protocol.js'
export function parseRequest(line) {
  const request = sound(line)
  const isNew = request.command === 'rotateKey' || request.record?.rate !== undefined
  return isNew ? { problem: 'the request is malformed: it must be of a known form' } : request
}
`,
  )
  const server = await startServer(t, { program, dataDir: join(directory, 'db') })
  await server.addKey('a')
  for (const args of [
    ['rotate', 'a'],
    ['add', 'b', '--rate', '1'],
  ]) {
    const { code, stderr } = await runCommand(['keys', ...args, '--data', server.dataDir])
    t.equal(code, 1)
    t.match(stderr, /earlier version, until it is restarted; the token that was just printed is void\n$/)
  }
  const plain = await runCommand(['keys', 'add', 'c', '--data', server.dataDir])
  t.equal(plain.code, 0, 'a key without limits is sent as before')
})
