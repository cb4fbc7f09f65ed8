/**
 * On a terminal the log is plain text, with times and levels, and the first key can be copied from it. A service whose terminal
 * was closed keeps running. Everywhere else the log is JSON (ops/log).
 */
import { join } from 'node:path'
import t from 'tap'
import { present } from '../support/elements.js'
import { onTerminal, whyNoTerminal } from '../support/machines/terminal.js'
import { mainFile, until } from '../support/service/server.js'

t.setTimeout(600_000)

const skip = whyNoTerminal()

await t.test('a terminal shows no JSON, and shows the first key on its own line', { skip }, async (t) => {
  const flags = ['--port', '0', '--admin-port', '0', '--data', join(t.testdir(), 'db'), '--first-key', '--access-log']
  const env = { ...process.env, NO_COLOR: '1' }
  const terminal = await onTerminal(t, [process.execPath, mainFile, 'serve', '--workers', '1', ...flags], env)
  const lines = (): string[] => terminal.shown().split('\r\n')
  await until('a key is shown', async () => (terminal.shown().includes('"path":"hello"') ? true : undefined), 60_000)
  t.strictSame(
    lines().filter((line) => line.startsWith('{')),
    [],
    'no line is JSON',
  )
  t.match(
    lines().find((line) => line !== ''),
    /^topicd listens on http:\/\/127\.0\.0\.1:\d+\/ and keeps its topics in /,
    'the text for the user is first',
  )
  const token = present(lines().find((line) => /^ {2}[\w.~+/=-]{20,}$/.test(line))).trim()
  const command =
    /^ {2}curl -s (\S+) -H 'authorization: Apikey (\S+)' \\\r\n {4}-H 'content-type: application\/json' -d '(.*)'/m.exec(
      terminal.shown(),
    )
  const [, url = '', pasted, body] = present(command ?? undefined)
  t.equal(pasted, token, 'the token on its own line is also in a command to paste')

  const post = async (key: string) => {
    const headers = { authorization: `Apikey ${key}`, 'content-type': 'application/json' }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  await until('the key is known', async () => (await post(token)) === 200 || undefined)
  const answered = /INFO \(worker\/\d+\): request \{"route":"\/topics\/addAndSet","status":200,/
  await until('the request is in the access log', async () =>
    lines().some((line) => answered.test(line)) ? true : undefined,
  )

  await terminal.close()
  for (let i = 0; i < 20; i++) t.equal(await post('wrong'), 401, 'the service answers after its terminal was closed')
  process.kill(terminal.pid, 'SIGTERM')
  t.equal(await terminal.ended, 0)
})

await t.test('a terminal shows a defect with its stack on separate lines', { skip }, async (t) => {
  const planted = join(import.meta.dirname, '../../test/support/faults/crash-on-signal.mjs')
  const flags = ['--port', '0', '--admin-port', '0', '--workers', '1', '--data', join(t.testdir(), 'db')]
  const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: `--import=${planted}` }
  const terminal = await onTerminal(t, [process.execPath, mainFile, 'serve', ...flags], env)
  await until('the service responds', async () => (terminal.shown().includes(': listening') ? true : undefined), 60_000)
  const lines = terminal.shown().split('\r\n')
  t.match(
    lines.find((line) => line.includes(': listening')),
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO \(primary\/\d+\): listening \{.*"url":"http:\/\/127\.0\.0\.1:\d+".*\}$/,
  )
  t.strictSame(
    lines.filter((line) => line.length > 200),
    [],
    'no line is long enough for all settings',
  )
  process.kill(terminal.pid, 'SIGUSR2')
  t.equal(await terminal.ended, 1)
  t.match(terminal.shown(), /ERROR \(primary\/\d+\): crashed \r\n[\s\S]*Error: planted: thrown\r\n +at /)
})
