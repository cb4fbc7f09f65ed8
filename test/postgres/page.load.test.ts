/**
 * docs/postgresql.md, followed by a newcomer on an engine with Debian's access rules. Its commands start two hosts, a tree moves there and
 * back, and mistakes on the way are explained.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { migratePostgresStore, openPostgresStore } from '../../dist/store/postgres/open.js'
import { blocksOf, readDocument } from '../support/documents.js'
import { freePorts } from '../support/machines/ports.js'
import { type CommandResult, cleanEnv, mainFile, runCommand } from '../support/service/server.js'
import { skipReason } from '../support/stores/postgres.js'
import { findBinaries, OwnCluster } from '../support/stores/postgres-cluster.js'
import { tied } from '../support/tied.js'

/** The lines of Debian's pg_hba.conf without those for replication. */
const debianLines = [
  'local all postgres peer',
  'local all all peer',
  'host all all 127.0.0.1/32 scram-sha-256',
  'host all all ::1/128 scram-sha-256',
]

const hangMs = 300_000

const binaries = findBinaries()
const skip =
  binaries === undefined ? skipReason : process.getuid?.() !== 0 && 'needs root, to become the account postgres'

const password = 'a secret'
const warning =
  'topicd: --data is ignored because the store is PostgreSQL; "--store lmdb" selects the store in that directory\n'

/** The console block of the page that contains `text`. */
function blockWith(text: string): string {
  const [block, ...others] = blocksOf(readDocument('docs/postgresql.md'), 'console').filter((block) =>
    block.text.includes(text),
  )
  assert(block !== undefined && others.length === 0, `one block has "${text}"`)
  return block.text
}

await t.test('the commands in docs/postgresql.md work', { skip, timeout: hangMs }, async (t) => {
  // Outside the checkout, which the account postgres may not be able to enter.
  const directory = mkdtempSync(join(tmpdir(), 'topicd-page-'))
  chmodSync(directory, 0o755)
  const [enginePort = 0, absentPort = 0, ...hostPorts] = await freePorts(6)
  const cluster = new OwnCluster(binaries ?? '', join(directory, 'engine'), enginePort)
  mkdirSync(join(directory, 'engine'))
  t.teardown(() => cluster.remove())
  await cluster.make('postgres')
  await cluster.start()
  await cluster.admit(debianLines)

  const program = join(directory, 'topicd')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`)
  chmodSync(program, 0o755)

  /** Runs commands of the page in one shell without a terminal. Prompts read from `input`. */
  async function run(script: string, env: Readonly<Record<string, string>> = {}, input = ''): Promise<CommandResult> {
    const local = [
      ['127.0.0.1/topicd', `127.0.0.1:${enginePort}/topicd`],
      ['sudo -u postgres', `runuser -u postgres -- env PGHOST=${join(directory, 'engine')} PGPORT=${enginePort}`],
      ['PGPASSWORD=…', `PGPASSWORD='${password}'`],
      ...['8080', '8081', '8090', '8091'].map((port, index) => [port, String(hostPorts[index])]),
    ] as const
    const text = local.reduce((text, [from = '', to = '']) => text.replaceAll(from, to), script)
    const shell = spawn(...tied('bash', ['-eumc', text]), {
      cwd: directory,
      env: { ...cleanEnv(), PATH: `${directory}:${binaries}:${process.env.PATH}`, ...env },
      stdio: 'pipe',
      detached: true,
    })
    let [stdout, stderr] = ['', '']
    shell.stdout.setEncoding('utf8').on('data', (piece: string) => (stdout += piece))
    shell.stderr.setEncoding('utf8').on('data', (piece: string) => (stderr += piece))
    shell.stdin.on('error', () => {}).end(input)
    const [code] = (await once(shell, 'close')) as [number | null]
    return { code, stdout, stderr }
  }

  const addressOf = (account: string, port = enginePort, database = 'topicd'): string =>
    `postgres://${account}@127.0.0.1:${port}/${database}`
  const own = addressOf(`topicd:${encodeURIComponent(password)}`)

  /** Requires that migrating the store, or opening it as all other commands do, fails for this reason. */
  async function refuses(t: Test, store: string, reason: string, open = migratePostgresStore): Promise<void> {
    await t.rejects(open(store), { message: reason })
  }
  const openAt = async (store: string): Promise<never> =>
    Promise.reject(new Error(`${await openPostgresStore(store)} opened`))
  const refused = 'the PostgreSQL server denies access:'
  const notTheOwner =
    'the role in --store must own the database, or have CREATE on it, and be the one that "topicd migrate" was run with'

  await t.test('each mistake in the setup is explained', async (t) => {
    const wrong = `${refused} password authentication failed for user "topicd": its password is wrong, or there is no such role ("createuser --pwprompt topicd" creates it)`
    const { code, stderr } = await runCommand(['migrate'], { TOPICD_STORE: own })
    t.strictSame([code, stderr], [1, `topicd: ${wrong}\n`])
    await run(`sudo -u postgres psql -qc "create role topicd login password '${password}'"`)
    await refuses(t, addressOf('topicd:wrong'), wrong)
    await refuses(
      t,
      addressOf('topicd'),
      `${refused} it requires a password, and none was given: put it in PGPASSWORD, in ~/.pgpass, or in the address in TOPICD_STORE`,
    )
    await refuses(
      t,
      own,
      `${refused} database "topicd" does not exist: "createdb --owner=ROLE --encoding=UTF8 --template=template0 topicd" creates it`,
    )
    await refuses(
      t,
      `postgres:///topicd?host=${join(directory, 'engine')}&port=${enginePort}&user=topicd`,
      `${refused} Peer authentication failed for user "topicd": through a socket, only the system user topicd can use this role; use the address 127.0.0.1 and a password`,
    )
    await refuses(
      t,
      addressOf('topicd', absentPort),
      `the PostgreSQL server cannot be reached: connect ECONNREFUSED 127.0.0.1:${absentPort}: nothing is listening there; is PostgreSQL running ("pg_lsclusters"), and is this its port?`,
    )
    await run('sudo -u postgres createdb --encoding=UTF8 --template=template0 topicd')
    await refuses(t, own, `permission denied for database topicd: ${notTheOwner}`)
    await refuses(t, own, 'there is no topicd schema in the store: run "topicd migrate" with the same --store', openAt)
    await run('sudo -u postgres dropdb topicd; sudo -u postgres dropuser topicd')
  })

  await t.test('the documented commands start two hosts that serve one tree', async (t) => {
    const making = blockWith('createuser').replace(/^sudo apt-get .*\n/, '')
    const made = await run(making, {}, `${password}\n${password}\n`)
    t.equal(made.code, 0, made.stderr)
    const { stdout, stderr } = await run(`${blockWith('./host-1')}\nwait`)
    t.match(stdout, 'the schema was migrated from version 0 to 6\n', stderr)
    t.match(stdout, '{"path":"hello","created":true}{"path":"hello","type":"json","value":1.10}')
  })

  const env = { TOPICD_STORE: own }

  await t.test('a tree moves to PostgreSQL and back', async (t) => {
    const line = '{"path":"moved","type":"string","properties":{},"value":"there and back"}\n'
    const data = join(directory, 'data')
    t.equal((await runCommand(['import', '--allow-unfinished', '--store', 'lmdb', '--data', data], {}, line)).code, 0)
    for (const block of [blockWith('--store lmdb --data ./data >'), blockWith('--store lmdb --data ./data-2')]) {
      const moved = await run(block, env)
      t.strictSame([moved.code, moved.stderr.includes('ignored')], [0, false], moved.stderr)
    }
    t.ok(existsSync(join(directory, 'data-2')))
    t.match(readFileSync(join(directory, 'tree.ndjson'), 'utf8'), line)
  })

  await t.test('an unused data directory is reported', async (t) => {
    t.equal((await runCommand(['export', '--data', directory], env)).stderr, warning)
    t.equal((await runCommand(['export'], env)).stderr, '', 'a directory is reported only if given')
  })

  await t.test('the message for a rejected role or host gives the reason and the remedy', async (t) => {
    await run(`sudo -u postgres psql -qc "create role other login password 'other'" topicd`)
    await refuses(t, addressOf('other:other'), `permission denied for schema topicd: ${notTheOwner}`, openAt)
    writeFileSync(join(directory, 'engine/data/pg_hba.conf'), 'local all postgres peer\n')
    await run(`sudo -u postgres psql -qc "select pg_reload_conf()"`)
    await refuses(
      t,
      own,
      `${refused} no pg_hba.conf entry for host "127.0.0.1", user "topicd", database "topicd", no encryption: add a line for this host, role and database to pg_hba.conf on the server, and reload it`,
    )
  })
})
