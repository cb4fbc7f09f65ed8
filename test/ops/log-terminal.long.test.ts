/**
 * On a terminal the log is text for people, with times and levels, and the first key can be copied from it. Everywhere
 * else the log is JSON (ops/log).
 */
import { join } from 'node:path'
import t from 'tap'
import { onTerminal, whyNoTerminal } from '../support/machines/terminal.js'
import { mainFile, until } from '../support/service/server.js'

t.setTimeout(600_000)

await t.test(
  'on a terminal no line of the log is JSON, and the first key is on a line of its own',
  { skip: whyNoTerminal() },
  async (t) => {
    const flags = [
      '--port',
      '0',
      '--admin-port',
      '0',
      '--workers',
      '2',
      '--data',
      join(t.testdir(), 'db'),
      '--first-key',
      '--access-log',
    ]
    const terminal = await onTerminal(t, [process.execPath, mainFile, 'serve', ...flags], {
      ...process.env,
      NO_COLOR: '1',
    })
    const lines = (): string[] => terminal.shown().split('\r\n')
    await until('the first key', async () => (terminal.shown().includes('"path":"hello"') ? true : undefined), 60_000)
    t.ok(
      lines().every((line) => !line.startsWith('{')),
      'no line is JSON',
    )
    t.match(
      lines().find((line) => line !== ''),
      /^topicd listens on http:\/\/127\.0\.0\.1:\d+\/ and keeps its topics in /,
      'the text for whoever started it is first',
    )
    const token = lines()
      .find((line) => /^ {2}[\w.~+/=-]{20,}$/.test(line))
      ?.trim()
    t.type(token, 'string', 'the token is alone on its line')
    const command =
      /^ {2}curl -s (\S+) -H 'authorization: Apikey (\S+)' \\\r\n {4}-H 'content-type: application\/json' -d '(.*)'/m.exec(
        terminal.shown(),
      )
    t.equal(command?.[2], token, 'and in a command that can be pasted')

    await until('the key is known', async () => {
      const { status } = await fetch(String(command?.[1]), {
        method: 'POST',
        headers: { authorization: `Apikey ${token}`, 'content-type': 'application/json' },
        body: command?.[3],
      })
      return status === 200 || undefined
    })
    const answered = /INFO \(worker\/\d+\): request \{"route":"\/topics\/addAndSet","status":200,/
    await until('the access log', async () => (lines().some((line) => answered.test(line)) ? true : undefined))

    process.kill(terminal.pid, 'SIGTERM')
    t.equal(await terminal.ended, 0)
    t.match(
      lines().findLast((line) => line !== ''),
      /: stopped \{"code":0\}$/,
    )
  },
)

await t.test('a terminal shows a defect with its stack on separate lines', { skip: whyNoTerminal() }, async (t) => {
  const planted = join(import.meta.dirname, '../../test/support/faults/crash-on-signal.mjs')
  const flags = ['--port', '0', '--admin-port', '0', '--workers', '1', '--data', join(t.testdir(), 'db')]
  const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: `--import=${planted}` }
  const terminal = await onTerminal(t, [process.execPath, mainFile, 'serve', ...flags], env)
  await until('the service', async () => (terminal.shown().includes(': listening') ? true : undefined), 60_000)
  const lines = terminal.shown().split('\r\n')
  t.match(
    lines.find((line) => line.includes(': listening')),
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO \(primary\/\d+\): listening \{.*"url":"http:\/\/127\.0\.0\.1:\d+".*\}$/,
  )
  t.strictSame(
    lines.filter((line) => line.length > 200),
    [],
    'no line is as long as all settings',
  )
  process.kill(terminal.pid, 'SIGUSR2')
  t.equal(await terminal.ended, 1)
  t.match(terminal.shown(), /ERROR \(primary\/\d+\): crashed \r\n[\s\S]*Error: planted: thrown\r\n +at /)
})
