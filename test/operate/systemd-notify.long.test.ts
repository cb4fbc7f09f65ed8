/**
 * The notifications to systemd and the watchdog pings, recorded by a fake `systemd-notify` that writes its arguments to a file. There are
 * no pings while a worker hangs; they resume once the worker has been killed and replaced.
 */

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { version } from '../../dist/base/version.js'
import { first } from '../support/elements.js'
import { get } from '../support/service/metrics.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const directory = t.testdir()
const notifications = join(directory, 'notifications')
const programs = join(directory, 'bin')
mkdirSync(programs)
writeFileSync(join(programs, 'systemd-notify'), `#!/bin/sh\necho "$@" >> '${notifications}'\n`)
chmodSync(join(programs, 'systemd-notify'), 0o755)

const watchdogMs = 600

const server = await startServer(t, {
  workers: 2,
  dataDir: join(directory, 'db'),
  env: {
    PATH: `${programs}:${process.env.PATH}`,
    NOTIFY_SOCKET: join(directory, 'nobody'),
    WATCHDOG_USEC: String(watchdogMs * 1000),
  },
})

const lines = (): string[] => (existsSync(notifications) ? readFileSync(notifications, 'utf8').trim().split('\n') : [])
const pings = (): number => lines().filter((line) => line.endsWith(' WATCHDOG=1')).length
const states = (): string[] => lines().filter((line) => !line.endsWith(' WATCHDOG=1'))
const more = (pingsBefore: number) => async () => (pings() > pingsBefore + 2 ? true : undefined)

await t.test('READY is sent once the service serves, and pings follow', async (t) => {
  await until('pings are sent', more(0))
  t.strictSame(states(), [`--pid=${server.pid} READY=1 STATUS=2 workers are serving, version ${version}`])
})

await t.test('a reload sends RELOADING, and READY when it is done', async (t) => {
  server.signal('SIGHUP')
  const [, reloading, ready] = await until('both are sent', async () => (states().length > 2 ? states() : undefined))
  t.equal(reloading, `--pid=${server.pid} RELOADING=1 STATUS=Replacing the workers`)
  t.equal(ready, `--pid=${server.pid} READY=1 STATUS=2 workers are serving, version ${version}`)
})

await t.test('no ping is sent while a worker hangs, until another has replaced it', async (t) => {
  const hanging = first(server.workerPids())
  process.kill(hanging, 'SIGSTOP')
  const { text } = await until('the service is not ready', async () => {
    const answer = await get(`${server.adminUrl}/readyz`)
    return answer.status === 503 ? answer : undefined
  })
  t.match(text, `worker ${hanging} has been silent for several seconds`)
  const unready = `--pid=${server.pid} STATUS=not ready: worker ${hanging} has been silent for several seconds`
  await until('the status text has the reason', async () => (states().includes(unready) ? true : undefined))
  const before = pings()
  t.match(await server.logged('process killed'), { child: hanging, level: 50 }, 'the worker is killed')
  t.ok(pings() <= before + 1, `${pings() - before} pings in the meantime`)
  await server.logged('worker replaced')
  await until('pings are sent', more(pings()))
  await until('the status text is good again', async () =>
    / STATUS=2 workers are serving,/.test(states().at(-1) ?? '') ? true : undefined,
  )
  await until('the service is ready', async () =>
    (await get(`${server.adminUrl}/readyz`)).status === 200 ? true : undefined,
  )
})

await t.test('STOPPING is sent when the service stops', async (t) => {
  t.strictSame(await server.stop(), { code: 0, signal: null })
  t.equal(states().at(-1), `--pid=${server.pid} STOPPING=1 STATUS=Draining`)
})
