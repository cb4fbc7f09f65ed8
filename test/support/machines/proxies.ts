/**
 * The proxies of docs/proxies.md, each configured by its block there, with Debian's packages. Only ports, addresses and the certificate's
 * files are replaced. A proxy is a child of the test that stays in the foreground and stops when the test ends.
 */
import { strict as assert } from 'node:assert'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { blocksOf, readDocument } from '../documents.js'
import { only } from '../elements.js'
import { until } from '../service/server.js'
import { tied } from '../tied.js'
import { freePorts } from './ports.js'

export const proxyNames = ['nginx', 'haproxy', 'caddy'] as const

export type ProxyName = (typeof proxyNames)[number]

/** The service behind a proxy. */
interface Service {
  readonly port: number
  readonly adminUrl: string
}

interface PageReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface RunningProxy {
  readonly url: string
  /** Fetches a page over its own connection. */
  page(path: string, headers?: Readonly<Record<string, string>>): Promise<PageReply>
  /** An agent that trusts the proxy's certificate, with one kept-alive connection. */
  agent(): Agent
}

/** Why the tests of a proxy are skipped; false if they are not. */
export function proxyMissing(name: ProxyName): string | false {
  for (const program of [name, 'openssl', 'setpriv']) {
    const { error } = spawnSync(program, [program === 'openssl' || program === 'caddy' ? 'version' : '-v'])
    if (error !== undefined) return `${program} is not installed: ${name} was NOT tested`
  }
  return false
}

/** The document's block with this proxy's configuration; its first line names the file. */
function documentedBlock(name: ProxyName): string {
  const blocks = blocksOf(readDocument('docs/proxies.md'), 'text')
  return `${only(blocks.filter(({ text }) => text.startsWith(`# /etc/${name}/`))).text}\n`
}

/** Replaces a string that must occur. */
function replaced(block: string, from: string, to: string): string {
  assert(block.includes(from), `"${from}" is in the block`)
  return block.replaceAll(from, to)
}

interface Place {
  readonly directory: string
  readonly port: number
  readonly service: Service
}

/** HAProxy's block with the lines that check `/readyz`. */
export function readinessBlock(): string {
  const blocks = blocksOf(readDocument('docs/proxies.md'), 'text')
  const variant = only(blocks.filter(({ text }) => text.includes('GET /readyz')))
  const kept = documentedBlock('haproxy').replace(/^ +(option httpchk|http-check|default-server)\b.*\n/gm, '')
  return replaced(kept, '    server one', `${variant.text.trimEnd()}\n    server one`)
}

/** The block adapted to this machine, with other addresses and another certificate. */
function localBlock(block: string, { service }: Place, replacements: readonly (readonly [string, string])[]): string {
  const addresses = block
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${service.port}`)
    .replaceAll('port 8081', `port ${new URL(service.adminUrl).port}`)
  return replacements.reduce((text, [from, to]) => replaced(text, from, to), addresses)
}

/** Writes the proxy's files; returns the command that runs the proxy. */
const prepare: Readonly<Record<ProxyName, (block: string, place: Place) => readonly string[]>> = {
  nginx(block, place) {
    const { directory, port } = place
    const site = localBlock(block, place, [
      ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
      ['/etc/ssl/topics.pem', join(directory, 'cert.pem')],
      ['/etc/ssl/topics.key', join(directory, 'key.pem')],
    ])
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${join(directory, kind)};`,
    )
    // When run as root, its workers would use an account that has no access to the test's directory.
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    writeFileSync(
      join(directory, 'nginx.conf'),
      `${user} daemon off; pid ${directory}/nginx.pid; error_log stderr; events {}
       http { access_log off; ${temporary.join(' ')}\n${site}}`,
    )
    return ['nginx', '-p', directory, '-c', join(directory, 'nginx.conf')]
  },
  haproxy(block, place) {
    const { directory, port } = place
    const pair = join(directory, 'pair.pem')
    writeFileSync(pair, ['cert.pem', 'key.pem'].map((file) => readFileSync(join(directory, file), 'utf8')).join(''))
    const replacements = [
      ['bind :443', `bind 127.0.0.1:${port}`],
      ['/etc/ssl/topics.pem', pair],
    ] as const
    writeFileSync(join(directory, 'haproxy.cfg'), localBlock(block, place, replacements))
    return ['haproxy', '-db', '-f', join(directory, 'haproxy.cfg')]
  },
  caddy(block, place) {
    const { directory, port } = place
    const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
    const site = `https://127.0.0.1:${port} {\nbind 127.0.0.1\ntls ${cert} ${key}`
    const options = '{\nadmin off\nauto_https disable_redirects\nservers {\nprotocols h1 h2\n}\n}\n'
    writeFileSync(join(directory, 'Caddyfile'), options + localBlock(block, place, [['topics.example.com {', site]]))
    return ['caddy', 'run', '--config', join(directory, 'Caddyfile'), '--adapter', 'caddyfile']
  },
}

function makeCertificate(directory: string): void {
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'],
    ...['-subj', '/CN=proxy', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')],
  ])
  assert.equal(made.status, 0, String(made.stderr))
}

/**
 * Starts a proxy in front of a service; it runs until the test ends.
 *
 * @param block its configuration, in the document's form
 */
export async function startProxy(
  t: Test,
  name: ProxyName,
  service: Service,
  block = documentedBlock(name),
): Promise<RunningProxy> {
  const directory = join(t.testdirName, name)
  mkdirSync(directory, { recursive: true })
  makeCertificate(directory)
  const [port = 0] = await freePorts(1)
  const [program = '', ...args] = prepare[name](block, { directory, port, service })
  const child = spawn(...tied(program, args, { signal: 'TERM' }), {
    env: { ...process.env, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += String(piece)))
  const closed = once(child, 'close')
  const agents = new Set<Agent>()
  t.teardown(async () => {
    for (const agent of agents) agent.destroy()
    child.kill('SIGTERM')
    await closed
    if (!t.passing()) t.comment(output)
  })
  const ca = readFileSync(join(directory, 'cert.pem'))
  const proxy: RunningProxy = {
    url: `https://127.0.0.1:${port}`,
    page: (path, headers = {}) =>
      new Promise((resolve, reject) => {
        get(proxy.url + path, { ca, headers, agent: false }, (incoming) => {
          const { statusCode = 0, headers } = incoming
          buffer(incoming).then((body) => resolve({ status: statusCode, headers, body }), reject)
        }).on('error', reject)
      }),
    agent() {
      const agent = new Agent({ keepAlive: true, maxSockets: 1, ca })
      agents.add(agent)
      return agent
    },
  }
  await until(`${name} serves`, async () => {
    assert(child.exitCode === null && child.signalCode === null, `${name} exited; its output:\n${output}`)
    const { status } = await proxy.page('/healthz').catch(() => ({ status: 0 }))
    return status === 200 || undefined
  })
  return proxy
}
