/**
 * TLS on the service's own port, with certificates created by openssl: the error for an unusable one names it, and a reload
 * loads a new one, which is read once, before the workers are replaced.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { mainFile, runCommand, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

const skip = spawnSync('openssl', ['version']).error !== undefined && 'openssl is not installed: TLS was NOT tested'

const directory = t.testdir()
const file = (name: string): string => join(directory, name)

/** Creates a key and a self-signed certificate for 127.0.0.1, in NAME.key and NAME.crt. */
function makeCertificate(name: string): void {
  const files = ['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30']
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const { status, stderr } = spawnSync('openssl', ['req', '-x509', ...kind, ...subject, ...files])
  if (status !== 0) throw new Error(String(stderr))
}

if (skip === false) {
  makeCertificate('first')
  makeCertificate('second')
  writeFileSync(file('not.pem'), 'hello\n')
}

await t.test('a service with an unusable certificate or key does not start', { skip }, async (t) => {
  for (const [cert, key, problem] of [
    ['first.crt', 'missing.key', /--tls-key: the file cannot be read: ENOENT.*missing\.key/],
    ['not.pem', 'first.key', /--tls-cert: .*not\.pem contains no usable PEM certificate/],
    ['first.crt', 'not.pem', /--tls-key: .*not\.pem contains no PEM private key/],
    ['first.crt', 'second.key', /--tls-key: .*second\.key is not the key of the certificate in .*first\.crt/],
    ['first.crt', undefined, /^topicd: --tls-cert and --tls-key must be given together \(see topicd help serve\)\n$/],
  ] as const) {
    const flags = ['--tls-cert', file(cert), ...(key === undefined ? [] : ['--tls-key', file(key)])]
    const ports = ['--port', '0', '--admin-port', '0']
    const { code, stderr } = await runCommand(['serve', ...flags, '--data', file('unused'), ...ports])
    t.equal(code, 2, `${cert} with ${key}`)
    t.match(stderr, problem)
    t.equal(stderr.trim().split('\n').length, 1, 'one line')
  }
})

interface TlsAnswer {
  readonly status: number
  readonly text: string
  /** The common name of the certificate that the server presented. */
  readonly name: string
}

/** Sends one request over a new TLS connection, which is verified against the certificate `ca`. */
function post(url: string, token: string, ca: string, body: object): Promise<TlsAnswer> {
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = {
    authorization: `Apikey ${token}`,
    'content-type': 'application/json',
    'content-length': bytes.length,
  }
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers, ca: readFileSync(file(`${ca}.crt`)), agent: false } as const
    const outgoing = request(url, options, (incoming) => {
      const name = String((incoming.socket as TLSSocket).getPeerCertificate().subject.CN)
      let text = ''
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      incoming.on('error', reject).on('end', () => resolve({ status: incoming.statusCode ?? 0, text, name }))
    })
    outgoing.on('error', reject).end(bytes)
  })
}

const isRoot = process.getuid?.() === 0
const needsRoot = !isRoot && 'a change of account needs root'

/** A user that every Debian has, with a group of the same name; runs the service if the test can change its account. */
const account = { name: 'daemon', uid: 1, gid: 1 }

/** A service with the certificate and key in current.crt and current.key, initially copies of `first`. */
async function serveTls(t: Test, data: string, program = mainFile) {
  copyFileSync(file('first.crt'), file('current.crt'))
  copyFileSync(file('first.key'), file('current.key'))
  mkdirSync(file(data))
  const isOther = isRoot && program === mainFile
  for (const path of isOther ? [file(data), file('current.key')] : []) chownSync(path, account.uid, account.gid)
  const token = (await runCommand(['keys', 'add', 'tester', '--create', '--data', file(data)])).stdout.trim()
  const flags = ['--tls-cert', file('current.crt'), '--tls-key', file('current.key'), '--workers', '1']
  const args = ['serve', '--port', '0', '--admin-port', '0', '--data', file(data), ...flags]
  // Another account may not write the files of a run that measures coverage.
  const uncovered = isOther ? ['--unset=NODE_OPTIONS'] : []
  const command = [...uncovered, process.execPath, program, ...args]
  const options = { account: isOther ? account.name : undefined }
  const child = spawn(...tied('/usr/bin/env', command, options), { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const log: Record<string, unknown>[] = []
  createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line) as Record<string, unknown>))
  const logged = (...msgs: readonly string[]) =>
    until(msgs.join(' or '), async () => log.find(({ msg }) => msgs.includes(String(msg))))
  return { child, ended, logged, token }
}

await t.test('the service responds over TLS, and a reload loads a new certificate', { skip }, async (t) => {
  const { child, ended, logged, token } = await serveTls(t, 'db')
  const url = String((await logged('listening')).url)
  t.match(url, /^https:/)

  const send = (route: string, ca: string, body: object) => post(`${url}/topics/${route}`, token, ca, body)
  const added = await send('addAndSet', 'first', { path: 'a', value: 'é' })
  t.strictSame(added, { status: 200, text: '{"path":"a","created":true}', name: 'first' })
  const large = 'x'.repeat(500_000)
  t.match(await send('addAndSet', 'first', { path: 'b', value: large }), { status: 200 }, 'a large body')
  const { text } = await send('fetch', 'first', { path: 'b' })
  t.equal(text, JSON.stringify({ path: 'b', type: 'json', value: large }), 'a large response')
  await t.rejects(send('fetch', 'second', { path: 'a' }), 'a client that trusts another certificate')
  await t.rejects(fetch(`${url.replace('https', 'http')}/topics/fetch`, { method: 'POST', body: '{}' }), 'plain HTTP')

  await t.test('a reload names a file that the service has no permission to read', { skip: needsRoot }, async (t) => {
    chownSync(file('current.key'), 0, 0)
    chmodSync(file('current.key'), 0o600)
    const { code, stderr } = await runCommand(['reload', '--data', file('db')])
    t.equal(code, 1)
    const advice = `the service's account \\(uid ${account.uid}\\) must be able to read it`
    t.match(stderr, new RegExp(`^topicd: not reloaded: --tls-key: .*EACCES.*current\\.key'; ${advice}\n$`))
    chownSync(file('current.key'), account.uid, account.gid)
  })

  copyFileSync(file('second.crt'), file('current.crt'))
  const { stderr } = await runCommand(['reload', '--data', file('db')])
  t.match(stderr, /current\.key is not the key of the certificate/, 'half of a renewal')
  t.match(await send('fetch', 'first', { path: 'a' }), { status: 200, name: 'first' }, 'the old certificate')

  copyFileSync(file('second.key'), file('current.key'))
  child.kill('SIGHUP')
  await logged('rolling restart done')
  t.match(await send('fetch', 'second', { path: 'a' }), { status: 200, name: 'second' })

  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

/** Removes the certificate once the workers have been replaced, before the primary continues. */
const removingCertificate = `import { rmSync } from 'node:fs'
import { Workers as SoundWorkers } from './sound-workers.js'

export class Workers extends SoundWorkers {
  #hasStarted = false

  async reach(wanted) {
    await super.reach(wanted)
    if (this.#hasStarted) rmSync(wanted.start.config.tlsCert)
    this.#hasStarted = true
  }
}
`

await t.test('a reload succeeds even if the certificate is deleted once the new workers run', { skip }, async (t) => {
  const program = patchedProgram(t.testdir(), 'cluster/primary/workers.js', removingCertificate)
  const { child, ended, logged } = await serveTls(t, 'vanishing', program)
  await logged('listening')
  child.kill('SIGHUP')
  t.match(await logged('rolling restart done', 'rolling restart failed'), { msg: 'rolling restart done' })
  t.notOk(existsSync(file('current.crt')), 'the certificate has vanished')
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})
