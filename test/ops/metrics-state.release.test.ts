/**
 * Metrics other than counts: limits next to the figures that they limit, versions, and the times of the last reload, the last
 * backup and the certificate's expiry. Times are in seconds since the epoch.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { version } from '../../dist/base/version.js'
import { watchCertificate } from '../../dist/ops/tls.js'
import { present } from '../support/elements.js'
import { bareService, runBare } from '../support/service/bare-service.js'
import { scrape } from '../support/service/metrics.js'
import { startServer, until } from '../support/service/server.js'

const now = (): number => Date.now() / 1000

await t.test('each limit is reported next to the figure that it limits', async (t) => {
  const mark = 16 * 1024 * 1024
  const server = await startServer(t, {
    workers: 2,
    descriptorsMax: 1000,
    flags: ['--disk-free-bytes-min', String(mark)],
  })
  const metrics = await scrape(server.adminUrl)
  t.equal(metrics.value('topicd_disk_free_bytes_min'), mark)
  t.equal(metrics.value('topicd_workers_by_version', { version }), 2)
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
  await until('descriptors of connections are reported', async () => {
    return (
      (await scrape(server.adminUrl)).value('topicd_worker_open_fds') >= metrics.value('topicd_worker_open_fds') + 50 ||
      undefined
    )
  })
})

await t.test('a metric reports whether a spare writer is loaded', async (t) => {
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
  t.equal((await scrape(server.adminUrl)).value('topicd_writer_restarts_total'), 0, 'the writer keeps running')
})

await t.test('a failed reload does not change the reported time of the last successful reload', async (t) => {
  const directory = t.testdir()
  const settings = join(directory, 'settings')
  writeFileSync(settings, '')
  const startS = now()
  const server = await startServer(t, { dataDir: join(directory, 'db'), flags: ['--settings', settings] })
  const seen = async () => {
    const { value } = await scrape(server.adminUrl)
    const timeS = value('topicd_config_last_reload_success_timestamp_seconds')
    return {
      successful: value('topicd_config_last_reload_successful'),
      timeS,
      startS: value('process_start_time_seconds'),
    }
  }
  const first = await seen()
  t.match(first, { successful: 1, timeS: first.startS }, 'the start counts as the first reload')
  t.ok(first.timeS >= startS - 1 && first.timeS <= now())
  server.signal('SIGHUP')
  await server.logged('rolling restart done')
  const second = await seen()
  t.equal(second.successful, 1)
  t.ok(second.timeS > first.timeS && second.timeS <= now())
  writeFileSync(settings, 'TOPICD_DRAIN_MS=never\n')
  server.signal('SIGHUP')
  await server.logged('rolling restart failed')
  t.match(await seen(), { successful: 0, timeS: second.timeS })
})

await t.test('the time of the last backup survives a failed backup and a restart', async (t) => {
  const name = 'topicd_last_backup_timestamp_seconds'
  const directory = t.testdir()
  const file = join(directory, 'copy.mdb')
  const server = await startServer(t, { dataDir: join(directory, 'db') })
  const { types } = await scrape(server.adminUrl)
  t.notOk(types.has(name), 'no backup has been created')
  t.strictSame(
    [...types.keys()].filter((name) => name.includes('certificate')),
    [],
    'there is no certificate',
  )
  const startS = now()
  const { code, stderr } = await server.command('backup', file)
  t.equal(code, 0, stderr)
  const seen = (await scrape(server.adminUrl)).value(name)
  t.ok(seen >= startS - 1 && seen <= now() + 1, `${seen}`)
  const refused = await server.command('backup', file)
  t.equal(refused.code, 1, 'the backup fails')
  t.equal((await scrape(server.adminUrl)).value(name), seen, 'a failed backup does not change the time')
  await server.stop()
  const again = await startServer(t, { dataDir: server.dataDir, token: server.token })
  t.equal((await scrape(again.adminUrl)).value(name), seen)
})

const noOpenssl =
  spawnSync('openssl', ['version']).error !== undefined && 'openssl is not installed: certificates were NOT tested'

await t.test('the expiry metric follows the used certificate, even after a reload', { skip: noOpenssl }, async (t) => {
  const directory = t.testdir()
  const cert = join(directory, 'cert.pem')
  const key = join(directory, 'key.pem')
  const make = (days: number): number => {
    const args = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=test -days ${days}`.split(' ')
    execFileSync('openssl', [...args, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    const end = execFileSync('openssl', ['x509', '-noout', '-enddate', '-in', cert], { encoding: 'utf8' })
    return Date.parse(end.trim().replace('notAfter=', '')) / 1000
  }
  const first = make(30)
  const service = await bareService(join(directory, 'db'), ['--tls-cert', cert, '--tls-key', key])
  const expiry = async () => (await scrape(service.adminUrl)).value('topicd_certificate_expiry_timestamp_seconds')
  const { child, stop } = await runBare(t, service, ['ignore', 'ignore', 'inherit'])
  t.equal(await expiry(), first)
  const second = make(60)
  t.equal(await expiry(), first, 'a new file that is not in use yet is not reported')
  child.kill('SIGHUP')
  await until('the new expiry is reported', async () => (await expiry()) === second || undefined, 60_000)
  t.strictSame(await stop(), [0, null])
})

await t.test('an expiring certificate is logged as a warning', async (t) => {
  const warnings: string[] = []
  const weekMs = 7 * 24 * 60 * 60 * 1000
  const watch = watchCertificate({ warn: (_: object, message: string) => warnings.push(message) } as never, 20)
  // The watch does not keep this process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  watch.use({ expiresMs: Date.now() + weekMs + 60_000 })
  t.strictSame(warnings, [], 'no warning with more than a week left')
  watch.use({ expiresMs: Date.now() + weekMs + 500 })
  t.strictSame(warnings, [], 'no warning before the next check')
  await until('a later check logs a warning', async () => (warnings.length > 1 ? true : undefined))
  t.equal(warnings[0], 'the certificate expires soon')
  watch.use({ expiresMs: Date.now() + 500 })
  await until('the last warning is logged', async () =>
    warnings.includes('the certificate has expired') ? true : undefined,
  )
  watch.use(undefined)
  t.equal(watch.expiresMs(), undefined)
})
