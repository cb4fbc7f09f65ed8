/**
 * The metrics that are not counts: limits beside what they limit, versions, and the times of the last reload, the last
 * backup and the certificate's expiry. Times are seconds since the epoch.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { version } from '../../dist/base/version.js'
import { watchCertificate } from '../../dist/ops/certificate-watch.js'
import { present } from '../support/elements.js'
import { bareService } from '../support/service/bare-service.js'
import { get, scrape } from '../support/service/metrics.js'
import { startServer, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

const now = (): number => Date.now() / 1000

await t.test('each limit is reported beside what it limits', async (t) => {
  const mark = 16 * 1024 * 1024
  const server = await startServer(t, {
    workers: 2,
    descriptorsMax: 1000,
    flags: ['--disk-free-bytes-min', String(mark)],
  })
  const metrics = await scrape(server.adminUrl)
  t.equal(metrics.value('topicd_disk_free_bytes_min'), mark)
  t.equal(
    metrics.value('topicd_connections_max'),
    2 * (1000 - 200),
    'descriptors minus the reserved ones, of both workers',
  )
  t.equal(metrics.value('process_max_fds'), 1000)
  const open = metrics.value('process_open_fds')
  t.ok(open > 10 && open < 100, `the primary has ${open} descriptors open`)
  for (const pid of server.workerPids().map(String)) {
    t.equal(metrics.value('topicd_worker_max_fds', { pid }), 1000)
    const open = metrics.value('topicd_worker_open_fds', { pid })
    t.ok(open > 10 && open < 500, `worker ${pid} has ${open} descriptors open`)
  }
  const connections = Array.from({ length: 50 }, () => server.raw())
  await Promise.all(connections)
  await until('descriptors of connections', async () => {
    return (
      (await scrape(server.adminUrl)).value('topicd_worker_open_fds') >= metrics.value('topicd_worker_open_fds') + 50 ||
      undefined
    )
  })
})

await t.test('workers are counted by version', async (t) => {
  const server = await startServer(t, { workers: 3 })
  t.equal((await scrape(server.adminUrl)).value('topicd_workers_by_version', { version }), 3)
})

await t.test('a spare writer is reported once it has loaded, and not while there is none', async (t) => {
  const server = await startServer(t)
  const spareIs = (up: number): Promise<unknown> =>
    until(
      `a spare: ${up}`,
      async () => (await scrape(server.adminUrl)).value('topicd_writer_spare_up') === up || undefined,
    )
  await spareIs(1)
  process.kill(present(server.sparePid()), 'SIGKILL')
  await spareIs(0)
  await spareIs(1)
  t.equal((await scrape(server.adminUrl)).value('topicd_writer_restarts_total'), 0, 'the writer goes on')
})

await t.test('a successful reload is reported with its time', async (t) => {
  const startS = now()
  const server = await startServer(t)
  const seen = async (): Promise<{ successful: number; time: number; processStart: number }> => {
    const { value } = await scrape(server.adminUrl)
    return {
      successful: value('topicd_config_last_reload_successful'),
      time: value('topicd_config_last_reload_success_timestamp_seconds'),
      processStart: value('process_start_time_seconds'),
    }
  }
  const first = await seen()
  t.equal(first.successful, 1, 'the start counts as the first')
  t.equal(first.time, first.processStart)
  t.ok(first.time >= startS - 1 && first.time <= now())
  server.signal('SIGHUP')
  await server.logged('rolling restart done')
  const second = await seen()
  t.equal(second.successful, 1)
  t.ok(second.time > first.time && second.time <= now())
})

await t.test('a failed reload is reported, and the time of the last successful one is kept', async (t) => {
  const directory = t.testdir()
  const settings = join(directory, 'settings')
  writeFileSync(settings, '')
  const server = await startServer(t, { dataDir: join(directory, 'db'), flags: ['--settings', settings] })
  const before = await scrape(server.adminUrl)
  writeFileSync(settings, 'TOPICD_DRAIN_MS=never\n')
  server.signal('SIGHUP')
  await server.logged('rolling restart failed')
  const after = await scrape(server.adminUrl)
  t.equal(after.value('topicd_config_last_reload_successful'), 0)
  const time = 'topicd_config_last_reload_success_timestamp_seconds'
  t.equal(after.value(time), before.value(time), 'the time is that of the start')
})

await t.test('the time of the last backup is absent at first, and kept after a failure and a restart', async (t) => {
  const name = 'topicd_last_backup_timestamp_seconds'
  const directory = t.testdir()
  const file = join(directory, 'copy.mdb')
  const server = await startServer(t, { dataDir: join(directory, 'db') })
  t.notOk((await scrape(server.adminUrl)).types.has(name), 'none was made')
  const startS = now()
  const { code, stderr } = await server.command('backup', file)
  t.equal(code, 0, stderr)
  const seen = (await scrape(server.adminUrl)).value(name)
  t.ok(seen >= startS - 1 && seen <= now() + 1, `${seen}`)
  const refused = await server.command('backup', file)
  t.equal(refused.code, 1, 'a backup that fails')
  t.equal((await scrape(server.adminUrl)).value(name), seen, 'changes nothing')
  await server.stop()
  const again = await startServer(t, { dataDir: server.dataDir, token: server.token })
  t.equal((await scrape(again.adminUrl)).value(name), seen)
})

const noOpenssl =
  spawnSync('openssl', ['version']).error !== undefined && 'openssl is not installed: certificates were NOT tested'

await t.test(
  'the reported expiry is that of the certificate in use, which a reload changes',
  { skip: noOpenssl },
  async (t) => {
    const directory = t.testdir()
    const cert = join(directory, 'cert.pem')
    const key = join(directory, 'key.pem')
    const make = (days: number): number => {
      const args = [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-subj',
        '/CN=test',
        '-days',
        String(days),
      ]
      const { status, stderr } = spawnSync('openssl', [...args, '-keyout', key, '-out', cert])
      t.equal(status, 0, String(stderr))
      const { stdout } = spawnSync('openssl', ['x509', '-noout', '-enddate', '-in', cert], { encoding: 'utf8' })
      return Date.parse(stdout.trim().replace('notAfter=', '')) / 1000
    }
    const name = 'topicd_certificate_expiry_timestamp_seconds'
    const first = make(30)
    const service = await bareService(join(directory, 'db'), ['--tls-cert', cert, '--tls-key', key])
    const child = spawn(...tied(service.command[0], service.command.slice(1)), {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const ended = once(child, 'exit')
    t.teardown(() => child.kill('SIGKILL'))
    await service.ready()
    t.equal((await scrape(service.adminUrl)).value(name), first)
    const second = make(60)
    t.equal((await scrape(service.adminUrl)).value(name), first, 'a new file that is not in use yet is not reported')
    child.kill('SIGHUP')
    await until(
      'the expiry of the new certificate',
      async () => ((await scrape(service.adminUrl)).value(name) === second ? true : undefined),
      60_000,
    )
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
  },
)

await t.test('without a certificate no expiry is reported', async (t) => {
  const server = await startServer(t)
  t.notMatch((await get(`${server.adminUrl}/metrics`)).text, 'certificate')
})

await t.test(
  'the certificate is checked repeatedly, with a warning once it expires within a week or has expired',
  async (t) => {
    const warnings: string[] = []
    const weekMs = 7 * 24 * 60 * 60 * 1000
    const watch = watchCertificate({ warn: (_: object, message: string) => warnings.push(message) } as never, 20)
    // The watch does not keep this process alive.
    const alive = setInterval(() => {}, 1000)
    t.teardown(() => clearInterval(alive))
    watch.use({ expiresMs: Date.now() + weekMs + 60_000 })
    t.strictSame(warnings, [], 'no warning with more than a week left')
    watch.use({ expiresMs: Date.now() + weekMs + 500 })
    t.strictSame(warnings, [], 'not yet')
    await until('a warning at a later check', async () => (warnings.length > 1 ? true : undefined))
    t.equal(warnings[0], 'the certificate expires soon')
    watch.use({ expiresMs: Date.now() + 500 })
    await until('a warning of its end', async () =>
      warnings.includes('the certificate has expired') ? true : undefined,
    )
    watch.use(undefined)
    t.equal(watch.expiresMs(), undefined)
  },
)
