/**
 * The packaged program on every supported Node.js: the first and the last release of each major version, from the npm registry. If the C
 * library is too old for the HTTP library's binary, the program cannot start and reports why. Then it is run with a newer C library.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { builtPackages } from '../support/machines/built-packages.js'
import { fetchNewerLibc, newerLibcMinor, whyNoNewerLibc } from '../support/machines/newer-libc.js'
import { lastRequests } from '../support/service/last-requests.js'
import { startServer } from '../support/service/server.js'

t.setTimeout(900_000)

const base = mkdtempSync(join(tmpdir(), 'topicd-node-'))
t.teardown(() => rmSync(base, { recursive: true, force: true }))

const platform = `node-linux-${process.arch}`

/** The minimum minor version of glibc 2 for the HTTP library's binary, by major version of Node.js. */
const glibcMin: Readonly<Record<string, number>> = { 20: 27, 22: 27, 24: 38, 26: 38 }

const { glibcVersionRuntime } = (process.report.getReport() as { header: { glibcVersionRuntime: string } }).header
const glibcMinor = Number(glibcVersionRuntime.split('.')[1])

function npm(...args: readonly string[]): string {
  return execFileSync('npm', [...args, '--loglevel=error'], { cwd: base, encoding: 'utf8' }).trim()
}

/** Downloads the node binary of a version, or of the last version of a range such as 22. */
function download(range: string): { readonly node: string; readonly version: string } {
  const [packed] = JSON.parse(npm('pack', `${platform}@${range}`, '--json')) as { filename: string; version: string }[]
  if (packed === undefined) throw new Error(`npm packed no Node.js ${range}`)
  const directory = join(base, packed.version)
  mkdirSync(directory)
  execFileSync('tar', ['-xzf', packed.filename, '-C', directory, '--strip-components=1'], { cwd: base })
  return { node: join(directory, 'bin/node'), version: packed.version }
}

execFileSync('tar', ['-xzf', builtPackages(t)('tarball', '8.0.0'), '-C', base])
const program = join(base, 'topicd-8.0.0/dist/main.js')

let newerLibc: string | undefined

/** A program that runs `node` with the newer C library. */
function withNewerLibc(node: string): string {
  newerLibc ??= fetchNewerLibc(join(base, 'newer-libc'))
  const wrapper = `${node}-with-newer-libc`
  writeFileSync(wrapper, `#!/bin/sh\nexec ${newerLibc} ${node} "$@"\n`, { mode: 0o755 })
  return wrapper
}

async function serves(t: Test, node: string, data: string): Promise<void> {
  const server = await startServer(t, { node, program, workers: 2, dataDir: data, flags: ['--cors-origins', '*'] })
  const workers = server.workerPids()
  const exact = '{"path":"a","value":[1e999,0.10,"\\u0000"]}'
  t.match(await server.post('addAndSet', exact), { status: 200 })
  t.match(await server.post('fetch', { path: 'a' }), {
    text: '{"path":"a","type":"json","value":[1e999,0.10,"\\u0000"]}',
  })
  // Versions of the HTTP library differ in the calls that complete a response, after which it must not be used.
  for (const [name, { text, status }] of Object.entries(lastRequests(server.token))) {
    const connection = await server.raw()
    await connection.write(text)
    await connection.closed
    t.equal(Number(connection.received.slice(9, 12)), status, name)
  }
  t.strictSame(server.workerPids(), workers, 'no worker has exited')
  const reloaded = spawnSync(node, [program, 'reload', '--data', data], { encoding: 'utf8' })
  t.match(reloaded, { status: 0, stdout: /2 workers replaced/ })
  // The workers of the other connections have exited.
  t.match(await server.connect().post('fetch', { selector: '*a//' }), { status: 200 })
  const checked = spawnSync(node, [program, 'check', '--data', data], { encoding: 'utf8' })
  t.match(checked, { status: 0, stdout: / 0 findings\n$/ })
}

function refuses(t: Test, node: string, data: string, glibcMin: number): void {
  const { status, stdout, stderr } = spawnSync(node, [program, 'serve', '--data', data, '--port', '0'], {
    encoding: 'utf8',
  })
  t.not(status, 0)
  t.match(`${stdout}${stderr}`, `GLIBC_2.${glibcMin}' not found`)
}

for (const range of ['20.20.0', '20', '22.12.0', '22', '24.0.0', '24', '26.0.0', '26']) {
  const min = glibcMin[range.split('.')[0] ?? ''] ?? 0
  await t.test(`Node.js ${range} runs the program if the C library is new enough`, async (t) => {
    const { node, version } = download(range)
    t.equal(execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(), `v${version}`)
    const data = join(base, `db-${version}`)
    if (glibcMinor >= min) return serves(t, node, data)
    refuses(t, node, data, min)
    const skip = newerLibcMinor < min ? `glibc 2.${min} is not known here` : whyNoNewerLibc()
    await t.test('the program runs with a C library that is new enough', { skip }, (t) =>
      serves(t, withNewerLibc(node), data),
    )
  })
}
