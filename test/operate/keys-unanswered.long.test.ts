/** A worker that gives no answer may have made the key: keys add must not call its token void. Faults are planted. */
import { join } from 'node:path'
import t from 'tap'
import { patchedProgram } from '../support/patched.js'
import { runCommand, startServer } from '../support/server.js'

t.test('a worker that dies between its commit and its answer has made the key, and keys add succeeds', async (t) => {
  const directory = t.testdir()
  const program = patchedProgram(
    directory,
    'cluster/key-requests.js',
    `import { answerQuestion as sound } from './sound-key-requests.js'
export async function answerQuestion(store, question) {
  const answer = await sound(store, question)
  if (question.about === 'addKey' && question.record.name === 'made' && answer === true) process.kill(process.pid, 'SIGKILL')
  return answer
}
`,
  )
  const server = await startServer(t, { program, dataDir: join(directory, 'db') })
  const { code, stdout, stderr } = await runCommand(['keys', 'add', 'made', '--data', server.dataDir])
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
  await server.knows(stdout.trim())
  t.equal((await server.post('add', { path: 'a' }, { token: stdout.trim() })).status, 200, 'the token is valid')
})

t.test('while no worker can answer, keys add says that the key may exist, and how to remove it', async (t) => {
  const directory = t.testdir()
  const program = patchedProgram(
    directory,
    'cluster/key-requests.js',
    `import { answerQuestion as sound } from './sound-key-requests.js'
export async function answerQuestion(store, question) {
  if (question.about === 'addKey' && question.record.name === 'maybe') throw new Error('planted')
  return sound(store, question)
}
`,
  )
  const server = await startServer(t, { program, dataDir: join(directory, 'db') })
  const { code, stdout, stderr } = await runCommand(['keys', 'add', 'maybe', '--data', server.dataDir])
  t.equal(code, 1)
  t.match(stdout, /^topicd_[\w-]{43}\n$/)
  t.equal(
    stderr,
    'topicd: planted; it is not known whether the key was made, and its token may be valid: topicd keys revoke maybe makes sure that it is not\n',
  )
})
