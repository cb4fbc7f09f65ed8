/**
 * Every alert that can be provoked, with real services and a real Prometheus: none fires while the services are well, and each fires once
 * its cause exists. The times of the rules are shortened (see support/machines/prometheus.ts).
 *
 * First, six services run and are watched for a while. Then causes are planted, each in its own service where they would disturb each
 * other. Last, the dashboard's queries are sent to the same Prometheus.
 */
import { spawnSync } from 'node:child_process'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { queries } from '../support/dashboard.js'
import { at, first } from '../support/elements.js'
import { overwriteModule, patchedProgram } from '../support/faults/patched.js'
import { Strace, whyNoStrace } from '../support/faults/strace.js'
import { alerts, whyNot } from '../support/machines/alerts.js'
import { Prometheus } from '../support/machines/prometheus.js'
import { bareService, runBare } from '../support/service/bare-service.js'
import { ChangesStream } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { runCommand, type Server, startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

/** Time for which the healthy services are watched: longer than any shortened time before an alert fires. */
const watchMs = 10_000

/** Alerts that other processes on the machine may cause, by filling its disk or keeping its processors busy. */
const ofTheMachine = ['TopicdDiskFillsUp', 'TopicdEventLoopSlow']

/** More than any disk has free, and as much as the setting allows. */
const diskMark = 2 ** 50

/** Maximum time from a cause to its alert on a busy machine, in ms. */
const firesMs = 120_000

const seen = new Set<string>()

/** Waits until the alert fires for the instance, and checks its text. */
async function fires(t: Test, prometheus: Prometheus, alert: string, instance: string): Promise<void> {
  const find = async () => {
    // Prometheus evaluates its rules once a second.
    await sleep(200)
    return (await prometheus.firing()).find(({ labels }) => labels.alertname === alert && labels.instance === instance)
  }
  const found = await until(`${alert} fires for ${instance}`, find, firesMs)
  t.match(found.annotations.summary, instance, `${alert}: ${found.annotations.summary}`)
  t.notMatch(Object.values(found.annotations).join(), /no value|error executing/i)
  seen.add(alert)
}

/** Creates a certificate and its key in these files. */
function makeCertificate(t: Test, cert: string, key: string, days: number): void {
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=test']
  const { status, stderr } = spawnSync('openssl', ['req', ...kind, '-days', String(days), '-keyout', key, '-out', cert])
  t.equal(status, 0, String(stderr))
}

async function backUp(t: Test, dataDir: string): Promise<void> {
  const { code, stderr } = await runCommand(['backup', `${dataDir}.copy`, '--data', dataDir])
  t.equal(code, 0, stderr)
}

const reasons = [whyNot('prometheus'), whyNoStrace()].filter((reason) => reason !== false)

await t.test('each alert fires for its cause and not without the cause', { skip: reasons.join('; ') }, async (t) => {
  const directory = t.testdir()
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  makeCertificate(t, cert, key, 60)
  const settingsOf = (name: string): string => {
    const file = join(directory, `${name}.env`)
    writeFileSync(file, '')
    return file
  }
  const start = (name: string, options: object = {}): Promise<Server> =>
    startServer(t, { dataDir: join(directory, name), ...options })

  const diskSettings = settingsOf('disk')
  const disk = await start('disk', { flags: ['--settings', diskSettings] })
  const program = patchedProgram(join(directory, 'build'), 'base/version.js', 'export * from "./sound-version.js"\n')
  const crew = await start('crew', { program, workers: 2 })
  const crowd = await start('crowd', { descriptorsMax: 240, flags: ['--changes-listeners-max', '1'] })
  const slow = await start('slow')
  const tlsSettings = settingsOf('tls')
  const flags = ['--settings', tlsSettings, '--tls-cert', cert, '--tls-key', key]
  const tls = await bareService(join(directory, 'tls'), flags)
  const { child: tlsProcess } = await runBare(t, tls, ['ignore', 'ignore', 'inherit'])
  const loud = await bareService(join(directory, 'loud'))
  await runBare(t, loud, ['ignore', 'ignore', 'inherit'])
  for (const name of ['disk', 'crew', 'crowd', 'slow', 'tls', 'loud']) await backUp(t, join(directory, name))

  const prometheus = await Prometheus.start(t, join(directory, 'prometheus'))
  const services = { disk, crew, crowd, slow, tls, loud }
  for (const [name, { adminUrl }] of Object.entries(services)) prometheus.watch(name, adminUrl)
  const see = (t: Test, alert: string, instance: string): Promise<void> => fires(t, prometheus, alert, instance)

  await t.test('no alert fires while all services are healthy', async (t) => {
    await until('all are scraped', async () => (await prometheus.query('up == 1')).length === 6 || undefined)
    const unknown = async () => (await prometheus.firing()).some(({ labels }) => labels.instance === undefined)
    await until('the earlier alert of a missing job ends', async () => !(await unknown()) || undefined)
    const fired = new Set<string>()
    for (const endMs = Date.now() + watchMs; Date.now() < endMs; await sleep(200)) {
      for (const { labels } of await prometheus.firing()) fired.add(`${labels.alertname} ${labels.instance}`)
      for (const server of [disk, crew, crowd, slow]) await server.post('fetch', { selector: '*a//' })
    }
    t.strictSame(
      [...fired].filter((name) => !ofTheMachine.some((alert) => name.startsWith(alert))),
      [],
    )
  })

  await t.test('alerts fire for a disk with less free space than the minimum', async (t) => {
    writeFileSync(diskSettings, `TOPICD_DISK_FREE_BYTES_MIN=${diskMark}\n`)
    disk.signal('SIGHUP')
    await disk.logged('rolling restart done')
    let refusing = true
    const refused = (async () => {
      for (; refusing; await sleep(20)) await disk.connect().post('addAndSet', { path: 'a', value: 1 })
    })()
    for (const alert of ['TopicdDiskTooFull', 'TopicdDiskFillsUp', 'TopicdNotReady', 'TopicdServerErrors']) {
      await see(t, alert, 'disk')
    }
    refusing = false
    await refused
  })

  await t.test('alerts fire for killed workers and for mixed builds', async (t) => {
    overwriteModule(program, 'base/version.js', 'export const version = "9.8.7"\n')
    const stays = first(crew.workerPids())
    for (let i = 0; i < 3; i++) {
      const killed = await until('a worker can be killed', async () => {
        const serving = (await scrape(crew.adminUrl)).value('topicd_workers') === 2
        return serving ? crew.workerPids().find((pid) => pid !== stays) : undefined
      })
      process.kill(killed, 'SIGKILL')
      await until('the worker is gone', async () => !crew.workerPids().includes(killed) || undefined)
    }
    await see(t, 'TopicdWorkersDie', 'crew')
    await see(t, 'TopicdVersionsMixed', 'crew')
  })

  await t.test('an alert fires for killed writers', async (t) => {
    let killed = 0
    for (let i = 0; i < 3; i++) {
      killed = await until('a writer can be killed', async () => {
        const writer = crew.writerPid()
        return writer === killed ? undefined : writer
      })
      process.kill(killed, 'SIGKILL')
    }
    await see(t, 'TopicdWritersDie', 'crew')
  })

  await t.test('alerts fire for connections and descriptors near their limits', async (t) => {
    const client = crowd.connect(38)
    let crowded = true
    const requests = (async () => {
      for (; crowded; await sleep(500)) {
        await Promise.all(Array.from({ length: client.connections }, () => client.post('fetch', { path: 'a' })))
      }
    })()
    await see(t, 'TopicdConnectionsNearLimit', 'crowd')
    crowded = false
    await requests
    const open = (await scrape(crowd.adminUrl)).value('process_open_fds')
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(crowd.pid), `--nofile=${open + 1}:240`])
    t.equal(status, 0, String(stderr))
    await see(t, 'TopicdDescriptorsNearLimit', 'crowd')
  })

  await t.test('an alert fires for streams near their limit', async (t) => {
    const stream = await ChangesStream.open({ url: crowd.url, token: crowd.token }, { path: 'a' })
    await see(t, 'TopicdChangesListenersNearLimit', 'crowd')
    stream.close()
  })

  await t.test('alerts fire for a slow disk, then for a failing one', async (t) => {
    await slow.post('add', { path: 'a' })
    const writer = await until('the writer runs', async () => slow.writerPid())
    const strace = await Strace.attach(t, writer, 'fdatasync:delay_enter=200000')
    let writing = true
    const writes = (async () => {
      for (let value = 0; writing; value++) await slow.connect().post('set', { path: 'a', value })
    })()
    await see(t, 'TopicdCommitsSlow', 'slow')
    writing = false
    await writes
    await strace.detach()
    await Strace.attach(t, writer, 'fdatasync:error=EIO')
    t.equal((await slow.connect().post('set', { path: 'a', value: 'kept' })).status, 200, 'the next writer writes')
    await see(t, 'TopicdWritesFailed', 'slow')
  })

  await t.test('alerts fire for a failed reload and an expiring certificate', async (t) => {
    writeFileSync(tlsSettings, 'TOPICD_DRAIN_MS=never\n')
    tlsProcess.kill('SIGHUP')
    await see(t, 'TopicdReloadFailed', 'tls')
    writeFileSync(tlsSettings, '')
    makeCertificate(t, cert, key, 3)
    tlsProcess.kill('SIGHUP')
    await see(t, 'TopicdCertificateEnds', 'tls')
  })

  await t.test('alerts fire for rejected keys and lost log lines', async (t) => {
    let refusing = true
    const refused = Array.from({ length: 4 }, async () => {
      for (; refusing; await sleep(2)) {
        const request = { method: 'POST', body: '{}', signal: AbortSignal.timeout(2000) }
        // The connection of a rejected request may close before the body is sent.
        await fetch(`${loud.url}/topics/fetch`, request).then(
          (answer) => answer.text(),
          () => {},
        )
      }
    })
    await see(t, 'TopicdKeysRefused', 'loud')
    refusing = false
    await Promise.all(refused)
    const mute = await bareService(join(directory, 'mute'), ['--access-log'])
    const full = openSync('/dev/full', 'w')
    await runBare(t, mute, ['ignore', full, full])
    prometheus.watch('mute', mute.adminUrl)
    await until('mute is up', async () => (await prometheus.query('up{instance="mute"} == 1')).length > 0 || undefined)
    for (let i = 0; i < 20; i++) await (await fetch(`${mute.url}/healthz`)).text()
    await see(t, 'TopicdLogLinesLost', 'mute')
  })

  await t.test('alerts fire for missing backups, hanging workers and a stopped service', async (t) => {
    const oldDir = join(directory, 'old')
    const wallMs = Date.now() - 3 * 86_400_000
    const store = openLmdbStore({ directory: oldDir, clock: () => ({ wallMs, steadyMs: 0, boot: 'past' }) })
    await store.backup?.(join(directory, 'old.copy'), 0, () => {}, { aborted: false })
    await store.close()
    const old = await start('old')
    const fresh = await start('fresh', { flags: ['--changes-kept', '0'] })
    prometheus.watch('old', old.adminUrl)
    prometheus.watch('fresh', fresh.adminUrl)
    await see(t, 'TopicdBackupMissing', 'fresh')
    await see(t, 'TopicdChangesForgotten', 'fresh')
    await see(t, 'TopicdBackupOld', 'old')
    let hanging = true
    const hangs = (async () => {
      const pid = first(old.workerPids())
      for (; hanging; await sleep(200)) {
        process.kill(pid, 'SIGSTOP')
        await sleep(300)
        process.kill(pid, 'SIGCONT')
      }
    })()
    await see(t, 'TopicdEventLoopSlow', 'old')
    hanging = false
    await hangs
    await fresh.stop()
    await see(t, 'TopicdDown', 'fresh')
  })

  await t.test('every alert was provoked by the tests above', (t) => {
    t.strictSame([...seen].sort(), alerts.map(({ name }) => name).sort())
    t.end()
  })

  await t.test('every query of the dashboard has a result', async (t) => {
    for (const expr of queries) {
      const found = await prometheus.query(expr.replace('$__rate_interval', '60s').replaceAll('$instance', '.*'))
      t.ok(found.length > 0, expr)
      t.ok(at(found, 0).metric.instance, expr)
    }
  })
})
