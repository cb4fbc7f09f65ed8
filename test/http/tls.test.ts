/**
 * TLS on the service's own port, with certificates made by openssl: those that cannot be used are refused by name, and
 * a reload brings in a new one.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { mainFile, runCommand, until } from '../support/server.js'

const skip = spawnSync('openssl', ['version']).error !== undefined && 'openssl is not installed: TLS was NOT tested'

const directory = t.testdir()
const file = (name: string): string => join(directory, name)

/** Makes a key and a self-signed certificate for 127.0.0.1, in NAME.key and NAME.crt. */
function makeCertificate(name: string): void {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30']
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const { status, stderr } = spawnSync('openssl', [
    ...args,
    ...subject,
    '-keyout',
    file(`${name}.key`),
    '-out',
    file(`${name}.crt`),
  ])
  if (status !== 0) throw new Error(String(stderr))
}

if (skip === false) {
  makeCertificate('first')
  makeCertificate('second')
  writeFileSync(file('not.pem'), 'hello\n')
}

await t.test(
  'a certificate or key that cannot be used keeps the service from starting, and is named',
  { skip },
  async (t) => {
    async function refuses(cert: string, key: string, problem: RegExp): Promise<void> {
      const flags = [
        '--tls-cert',
        file(cert),
        '--tls-key',
        file(key),
        '--data',
        file('unused'),
        '--port',
        '0',
        '--admin-port',
        '0',
      ]
      const { code, stderr } = await runCommand(['serve', ...flags])
      t.equal(code, 2, `${cert} with ${key}`)
      t.match(stderr, problem)
      t.equal(stderr.trim().split('\n').length, 1, 'in one line')
    }
    await refuses('missing.crt', 'first.key', /--tls-cert: the file cannot be read: ENOENT.*missing\.crt/)
    await refuses('first.crt', 'missing.key', /--tls-key: the file cannot be read: ENOENT.*missing\.key/)
    await refuses('not.pem', 'first.key', /--tls-cert: .*not\.pem holds no PEM certificate/)
    await refuses('first.crt', 'not.pem', /--tls-key: .*not\.pem holds no PEM private key/)
    await refuses(
      'first.crt',
      'second.key',
      /--tls-key: .*second\.key is not the key of the certificate in .*first\.crt/,
    )
    const alone = await runCommand(['serve', '--tls-cert', file('first.crt'), '--data', file('unused')])
    t.match(alone, {
      code: 2,
      stderr: /^topicd: --tls-cert and --tls-key must be given together \(see topicd help serve\)\n$/,
    })
  },
)

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

await t.test('the service answers over TLS, and a reload brings in a new certificate', { skip }, async (t) => {
  copyFileSync(file('first.crt'), file('current.crt'))
  copyFileSync(file('first.key'), file('current.key'))
  mkdirSync(file('db'))
  const token = (await runCommand(['keys', 'add', 'tester', '--create', '--data', file('db')])).stdout.trim()
  const flags = ['--tls-cert', file('current.crt'), '--tls-key', file('current.key'), '--workers', '2']
  const args = ['serve', '--port', '0', '--admin-port', '0', '--data', file('db'), ...flags]
  const child = spawn(process.execPath, [mainFile, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const log: Record<string, unknown>[] = []
  createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line) as Record<string, unknown>))
  const logged = (msg: string) => until(msg, async () => log.find((line) => line.msg === msg))
  const url = String((await logged('listening')).url)
  t.match(url, /^https:/)

  const added = await post(`${url}/topics/addAndSet`, token, 'first', { path: 'a', value: 'é' })
  t.strictSame(added, { status: 200, text: '{"path":"a","created":true}', name: 'first' })
  const large = 'x'.repeat(500_000)
  t.match(
    await post(`${url}/topics/addAndSet`, token, 'first', { path: 'b', value: large }),
    { status: 200 },
    'a large body',
  )
  const { text } = await post(`${url}/topics/fetch`, token, 'first', { path: 'b' })
  t.equal(text, JSON.stringify({ path: 'b', type: 'json', value: large }), 'a large answer')
  await t.rejects(
    post(`${url}/topics/fetch`, token, 'second', { path: 'a' }),
    'a client that trusts another certificate',
  )
  await t.rejects(fetch(`${url.replace('https', 'http')}/topics/fetch`, { method: 'POST', body: '{}' }), 'plain HTTP')

  copyFileSync(file('second.crt'), file('current.crt'))
  child.kill('SIGHUP')
  t.match(
    await logged('rolling restart failed'),
    { reason: /current\.key is not the key of the certificate/ },
    'half of a renewal',
  )
  t.match(
    await post(`${url}/topics/fetch`, token, 'first', { path: 'a' }),
    { status: 200, name: 'first' },
    'the old one stays in use',
  )

  copyFileSync(file('second.key'), file('current.key'))
  child.kill('SIGHUP')
  await logged('rolling restart done')
  t.match(await post(`${url}/topics/fetch`, token, 'second', { path: 'a' }), { status: 200, name: 'second' })

  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})
