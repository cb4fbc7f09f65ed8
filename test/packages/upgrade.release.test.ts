/**
 * Upgrades from the last release in place, under load: of a checkout on LMDB and on PostgreSQL, of the Debian package, and of the container.
 * Clients that retry see no failed request, no acknowledged write is lost, and tokens of changes remain valid or are rejected with 410.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PatientClients } from '../support/load/patient-clients.js'
import { builtPackages } from '../support/machines/built-packages.js'
import { Container } from '../support/machines/container.js'
import { imageBuilder, whyNoImage } from '../support/machines/image.js'
import { Machine, whyNoMachine } from '../support/machines/machine.js'
import { makeKey, underLoad } from '../support/machines/machine-steps.js'
import { freePorts } from '../support/machines/ports.js'
import { buildReleased, lastRelease } from '../support/machines/released.js'
import { runCommand, type Server, type StartOptions, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'

t.setTimeout(3_600_000)

if (lastRelease() === undefined) t.plan(0, 'the checkout has no history with a release')
else await upgrades(t)

async function upgrades(whole: Test): Promise<void> {
  const engine = await postgres()
  const last = buildReleased(whole)
  const released = (args: readonly string[], env: Readonly<Record<string, string>> = {}): string =>
    execFileSync(process.execPath, [last.program, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
      stdio: 'pipe',
    })

  await whole.test('a checkout on LMDB is upgraded, rolled back and upgraded again', async (t) => {
    const base = t.testdir()
    const dataDir = join(base, 'db')
    let server = await startServer(t, { program: last.program, dataDir, workers: 2 })
    const { token } = server
    const removal = { REMOVAL: 'when no updates for 30d' }
    await server.post('addAndSet', { path: 'kept', value: [1.1], properties: removal })
    const clients = new PatientClients(() => server.url, token)
    await clients.more(300)
    const exported = released(['export', '--selector', 'kept', '--data', dataDir])
    for (const program of [undefined, last.program, undefined]) {
      await server.stop()
      server = await startServer(t, { ...programOf(program), dataDir, token, workers: 2 })
      await clients.more(300)
    }
    await reports(t, clients)
    t.equal(clients.rejectedTokens, 0, 'tokens of the last release are valid')
    t.match(
      (await server.post('fetch', { path: 'kept', with_properties: true })).text,
      '"value":[1.1],"properties":{"R',
    )

    const elsewhere = join(base, 'other')
    const imported = await runCommand(['import', '--data', elsewhere], {}, exported)
    t.equal(imported.code, 0, imported.stderr)
    t.equal((await runCommand(['export', '--data', elsewhere])).stdout, exported, 'the export has the same bytes')
  })

  await whole.test('two hosts on PostgreSQL are upgraded', { skip: engine === undefined && skipReason }, async (t) => {
    const store = (await engine?.database('bare')) as `postgres://${string}`
    released(['migrate'], { TOPICD_STORE: store })
    const base = t.testdir()
    const start = async (options: StartOptions): Promise<Server[]> => {
      const first = await startServer(t, { ...options, store, dataDir: join(base, '1') })
      return [first, await startServer(t, { ...options, store, dataDir: join(base, '2'), token: first.token })]
    }
    let hosts = await start({ program: last.program })
    const [{ token }] = hosts as [Server]
    const numberOf = async (name: string): Promise<number> => {
      const [row] = await execute(store, `select value from topicd.meta where name = '${name}'`)
      return Number(row?.value)
    }
    const formerVersion = await numberOf('schema_version')
    let turn = 0
    const clients = new PatientClients(() => hosts[turn++ % 2]?.url ?? '', token)
    await clients.more(300)
    await Promise.all(hosts.map((host) => host.stop()))
    const { code, stderr } = await runCommand(['migrate'], { TOPICD_STORE: store })
    t.equal(code, 0, stderr)
    hosts = await start({ token })
    await clients.more(300)
    await reports(t, clients)
    t.ok(clients.rejectedTokens <= 1, 'the token of the last release is rejected at most once')
    if ((await numberOf('oldest_program')) <= formerVersion) return
    const flags = ['serve', '--port', '0', '--admin-port', '0', '--data', join(base, '3')]
    t.throws(
      () => released(flags, { TOPICD_STORE: store }),
      { message: `schema has version ${await numberOf('schema_version')}` },
      'the last release refuses the migrated schema',
    )
  })

  await whole.test('the Debian package is upgraded', { skip: whyNoMachine() }, async (t) => {
    const machine = await Machine.boot(t)
    copyFileSync(last.packageOf('deb'), machine.path('root/last.deb'))
    copyFileSync(builtPackages(t)('deb', '8.0.0'), machine.path('root/next.deb'))
    machine.run('dpkg -i /root/last.deb')
    const token = makeKey(machine, 'load', '')
    await underLoad(t, machine, token, () => machine.run('dpkg -i /root/next.deb'), 'restart')
    t.equal(machine.run('topicd version'), 'topicd 8.0.0')
    await underLoad(t, machine, token, () => machine.run('dpkg -i /root/last.deb'), 'restart')
    t.equal(machine.run('topicd version'), `topicd ${last.version}`)
    t.match(
      machine.run('runuser -u topicd -- topicd check'),
      'records checked, 0 findings',
      'the last release finds no fault in the store',
    )
  })

  await whole.test('the container is upgraded on its volume', { skip: whyNoMachine() || whyNoImage() }, async (t) => {
    const base = mkdtempSync(join(tmpdir(), 'topicd-upgrade-'))
    t.teardown(() => rmSync(base, { recursive: true, force: true }))
    const [data, secrets] = [join(base, 'data'), join(base, 'secrets')] as const
    for (const directory of [data, secrets]) mkdirSync(directory)
    const token = randomBytes(32).toString('hex')
    writeFileSync(join(secrets, 'token'), `${token}\n`, { mode: 0o444 })
    const build = imageBuilder(t)
    const images = [last.packageOf('tarball'), builtPackages(t)('tarball', '8.0.0')].map(build)
    const [port = 0, adminPort = 0] = await freePorts(2)
    let clients: PatientClients | undefined
    for (const image of images) {
      const [uid = 0, gid = 0] = image.config.User.split(':').map(Number)
      chownSync(data, uid, gid)
      const container = await Container.start(t, image, {
        writable: { '/data': data },
        readable: { '/run/secrets': secrets },
        environment: {
          TOPICD_FIRST_KEY_FILE: '/run/secrets/token',
          TOPICD_PORT: String(port),
          TOPICD_ADMIN_PORT: String(adminPort),
        },
        published: true,
      })
      // The first start creates the key once the service is ready.
      const hasKey = async () => /^first /m.test(container.run('topicd', 'keys', 'list').output) || undefined
      await until('the container has its key', hasKey)
      clients ??= new PatientClients(() => `http://127.0.0.1:${port}`, token)
      await clients.more(300)
      if (image === images.at(-1)) await reports(t, clients)
      t.equal((await container.stop('SIGTERM')).status, 0)
    }
    t.equal(clients?.rejectedTokens, 0, 'tokens of the last release are valid')
  })
}

function programOf(program: string | undefined): Pick<StartOptions, 'program'> {
  return program === undefined ? {} : { program }
}

async function reports(t: Test, clients: PatientClients): Promise<void> {
  await clients.stop()
  t.comment(`${clients.completed} requests, ${clients.rejectedTokens} tokens rejected`)
  t.strictSame(clients.failures, [], 'no request failed, and no acknowledged write was lost')
}
