/** An import whose input cannot be read ends with 1 and says so, and does not report empty input or a damaged store. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CommandResult, cleanEnv, mainFile, startServer } from '../support/server.js'
import { tied } from '../support/tied.js'

async function importFrom(path: string, data: string): Promise<Omit<CommandResult, 'stdout'>> {
  const input = openSync(path, 'r')
  const child = spawn(...tied(process.execPath, [mainFile, 'import', '--allow-unfinished', '--data', data]), {
    env: cleanEnv(),
    stdio: [input, 'ignore', 'pipe'],
  })
  closeSync(input)
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await once(child, 'close')
  return { code: child.exitCode, stderr }
}

async function claims(t: Test, data: string): Promise<void> {
  const { code, stderr } = await importFrom('/proc/self/mem', data)
  t.equal(code, 1)
  t.match(stderr, /^topicd: standard input cannot be read: EIO: i\/o error, read$/m, 'a read error')
  t.notMatch(stderr, 'damaged')
  t.strictSame(await importFrom('/', data), { code: 1, stderr: 'topicd: standard input is a directory\n' })
}

t.test('an import from a directory is refused before a store is made', async (t) => {
  const data = join(t.testdir(), 'db')
  t.strictSame(await importFrom('/', data), { code: 1, stderr: 'topicd: standard input is a directory\n' })
  t.notOk(existsSync(data))
})

t.test('without a service, an import of unreadable input ends with 1 and the reason', (t) =>
  claims(t, join(t.testdir(), 'db')),
)

t.test('beside a service, an import of unreadable input ends with 1 and the reason', async (t) =>
  claims(t, (await startServer(t)).dataDir),
)
