/**
 * Two services on one port: the second is rejected no matter how soon it starts, because the first holds the port from before its workers
 * listen until it has exited. A port on another address is a different port.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { only } from '../support/elements.js'
import { freePorts } from '../support/machines/ports.js'
import { cleanEnv, mainFile } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

interface Outcome {
  /** The exit code of a service that did not start; undefined for one that listens. */
  readonly code: number | undefined
  readonly stderr: string
  /** The port that the service listens on. */
  readonly port: number
}

/** Starts a service; resolves when it listens or has exited. */
async function serve(t: Test, name: string, host: string, port: number): Promise<Outcome> {
  const args = ['serve', '--host', host, '--port', String(port), '--admin-port', '0', '--workers', '1']
  const command = [mainFile, ...args, '--data', join(t.testdirName, name)]
  const service = spawn(...tied(process.execPath, command), { env: cleanEnv(), stdio: 'pipe' })
  t.teardown(() => end(service))
  let stdout = ''
  let stderr = ''
  service.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve) => {
    service.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      const listening = /"url":"http:\/\/[^"]*:(\d+)[^"]*".*"msg":"listening"/.exec(stdout)
      if (listening !== null) resolve({ code: undefined, stderr, port: Number(listening[1]) })
    })
    void once(service, 'close').then(([code]) => resolve({ code: code as number, stderr, port }))
  })
}

async function end(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return
  service.kill('SIGTERM')
  await once(service, 'close')
}

t.test('one of two services that start on the same port is rejected', async (t) => {
  t.testdir()
  for (const delayMs of [0, 150]) {
    const port = only(await freePorts(1))
    await t.test(`exactly one service listens if the second starts ${delayMs} ms after the first`, async (t) => {
      const first = serve(t, `first-${port}`, '127.0.0.1', port)
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      const second = serve(t, `second-${port}`, '127.0.0.1', port)
      const outcomes = await Promise.all([first, second])
      t.strictSame(outcomes.map(({ code }) => code).sort(), [10, undefined])
      const { stderr } = outcomes.find(({ code }) => code === 10) as Outcome
      t.match(stderr, /^topicd: cannot listen on 127\.0\.0\.1:\d+: .*\(EADDRINUSE\)\n$/)
    })
  }
})

t.test('a UDP port that another program uses is named in the message', async (t) => {
  t.testdir()
  const port = only(await freePorts(1))
  const other = createSocket('udp4').bind(port, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { code, stderr } = await serve(t, 'udp', '127.0.0.1', port)
  t.equal(code, 10)
  t.match(
    stderr,
    `the UDP port ${port} is in use; topicd also reserves it, so that no second service can share the TCP port (EADDRINUSE)`,
  )
})

t.test('a port in use on one address can be used on another address, but not on all addresses', async (t) => {
  t.testdir()
  const port = only(await freePorts(1))
  t.equal((await serve(t, 'a', '127.0.0.2', port)).code, undefined)
  t.equal((await serve(t, 'b', '127.0.0.3', port)).code, undefined, 'another address')
  t.equal((await serve(t, 'c', '0.0.0.0', port)).code, 10, 'all addresses')
})

t.test('with port 0, the service uses a port outside the range of outgoing connections', async (t) => {
  t.testdir()
  const [first = 0, last = 0] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t').map(Number)
  for (const name of ['a', 'b', 'c']) {
    const { code, port } = await serve(t, name, '127.0.0.1', 0)
    t.equal(code, undefined)
    t.ok(port < first || port > last, `no outgoing connection can take ${port} before the workers do`)
  }
})
