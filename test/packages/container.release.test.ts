/**
 * The image of the Containerfile, built from a release's tarball and run with the settings of compose.yaml and docs/kubernetes.md:
 * read-only, without privileges, as process 1.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { composeService, kubernetesManifests } from '../support/deployment.js'
import { readDocument, sectionOf } from '../support/documents.js'
import { builtPackages } from '../support/machines/built-packages.js'
import { Container } from '../support/machines/container.js'
import { type Image, imageBuilder, whyNoImage } from '../support/machines/image.js'
import { whyNoMachine } from '../support/machines/machine.js'
import { commandLine } from '../support/machines/processes.js'
import { until } from '../support/service/server.js'

t.setTimeout(1_200_000)

const skip = whyNoMachine() || whyNoImage()

/** Enough for a slow machine; readiness is polled. */
const readyMsMax = 60_000

const compose = composeService()
const graceMs = Number(/^(\d+)s$/.exec(compose.stop_grace_period)?.[1]) * 1000
const [pod] = kubernetesManifests().set.spec.template.spec.containers
const podEnvironment = Object.fromEntries(pod.env.map(({ name, value }) => [name, value]))
const probes = [pod.startupProbe, pod.livenessProbe, pod.readinessProbe].map(({ httpGet: { path, port } }) => ({
  path,
  port: pod.ports.find(({ name }) => name === port)?.containerPort,
}))

const base = mkdtempSync(join(tmpdir(), 'topicd-container-'))
t.teardown(() => rmSync(base, { recursive: true, force: true }))

const token = randomBytes(32).toString('hex')

/** Creates a directory as a volume, with this owner and mode. */
function makeVolume(name: string, owner: number, group: number, mode: number): string {
  const directory = join(base, name)
  mkdirSync(directory)
  chownSync(directory, owner, group)
  chmodSync(directory, mode)
  return directory
}

/** Starts the image with the token in the file that the environment names. */
function startContainer(
  t: Test,
  image: Image,
  volume: string,
  environment: Readonly<Record<string, string>>,
): Promise<Container> {
  const file = environment.TOPICD_FIRST_KEY_FILE ?? ''
  const secrets = join(base, basename(dirname(file)))
  mkdirSync(secrets, { recursive: true })
  // Like a secret that every account in the container can read.
  writeFileSync(join(secrets, basename(file)), `${token}\n`, { mode: 0o444 })
  const readable = { [dirname(file)]: secrets }
  return Container.start(t, image, { writable: { '/data': volume }, readable, environment })
}

const healthOf = (container: Container) => container.run(...container.image.config.Healthcheck.Test.slice(1))

async function untilHealthy(container: Container): Promise<void> {
  await until('the container is healthy', async () => (healthOf(container).status === 0 ? true : undefined), readyMsMax)
}

function post(container: Container, route: string, body: string): string {
  const headers = ['-H', `authorization: Bearer ${token}`, '-H', 'content-type: application/json']
  return container.curl(...headers, '-d', body, `http://127.0.0.1:8080/topics/${route}`).output
}

async function endsWell(t: Test, container: Container): Promise<void> {
  const { status, tookMs } = await container.stop(container.image.config.StopSignal as NodeJS.Signals)
  t.equal(status, 0, 'the container exits with status 0')
  t.ok(tookMs < graceMs, `after ${Math.round(tookMs)} ms, within the grace period`)
  t.match(container.log, '"msg":"stopped"')
  t.notMatch(container.log, token, 'nothing secret is logged')
  t.notMatch(container.log, /"level":[456]0/, 'no warning, no error')
}

/** Kills a worker. Resolves once another serves, and the dead one has been reaped. */
async function killWorker(container: Container): Promise<void> {
  const [victim] = container.processes().filter((pid) => commandLine(pid).includes('worker/worker.js'))
  if (victim === undefined) throw new Error('there is no worker')
  process.kill(victim, 'SIGKILL')
  await until(
    'the worker is reaped',
    async () => (container.processes().includes(victim) ? undefined : true),
    readyMsMax,
  )
  await untilHealthy(container)
}

await t.test('the image is built and runs as documented', { skip }, async (whole) => {
  const tarball = builtPackages(whole)('tarball', '8.0.0')
  let image = {} as Image

  await whole.test('the image is built', async (t) => {
    image = imageBuilder(whole)(tarball)
    const { User, ExposedPorts, Volumes, Healthcheck } = image.config
    t.match(User, /^[1-9]\d+:[1-9]\d+$/, 'the user is not root, and is given as numbers')
    t.strictSame(Object.keys(ExposedPorts), ['8080/tcp'])
    t.strictSame(Object.keys(Volumes), ['/data'])
    t.strictSame(Healthcheck.Test, compose.healthcheck.test, 'the health check is that of compose.yaml')
    const section = sectionOf(readDocument('docs/install.md'), 'in-a-container')
    const documented = Number(/takes\s(\d+)\sMB/.exec(section)?.[1])
    const measured = Math.round(image.bytes / 1e6)
    t.ok(Math.abs(measured - documented) < documented / 10, `${measured} MB, documented as ${documented}`)
  })
  const [uid = 0, gid = 0] = image.config.User.split(':').map(Number)
  const { uid: owner, gid: group, mode } = statSync(join(image.root, 'data'))
  whole.strictSame([owner, group, mode & 0o777], [uid, gid, 0o700], 'new volumes have the owner and mode of /data')
  const volume = makeVolume('volume', uid, gid, 0o700)
  const stored = '{"path":"a","type":"json","value":[1.10,"two"]}'

  await whole.test('the container runs with the settings of compose.yaml', async (t) => {
    const container = await startContainer(t, image, volume, compose.environment)
    await untilHealthy(container)
    t.match(container.run('cat', '/proc/1/cmdline').output, /^\S*node\0.*\0serve\0$/, 'the service is process 1')
    t.match(container.run('cat', '/proc/1/status').output, /^CapBnd:\t0+$/m, 'the service has no capabilities')
    for (const directory of ['/', '/tmp', '/run', '/opt/topicd'])
      t.not(container.run('touch', `${directory}/file`).status, 0, `${directory} cannot be written`)
    t.equal(post(container, 'addAndSet', '{"path":"a","value":[1.10,"two"]}'), '{"path":"a","created":true}')
    t.match(container.run('topicd', 'keys', 'list').output, /^first /m, 'commands need no flags')
    t.notMatch(container.run('topicd', 'settings').output, token)
    await endsWell(t, container)
  })

  await whole.test('the container runs with the settings for Kubernetes on the same volume', async (t) => {
    // The group that fsGroup sets, and the leftovers of mkfs.
    chownSync(volume, 0, gid)
    chmodSync(volume, 0o2770)
    mkdirSync(join(volume, 'lost+found'), { mode: 0o700 })
    const container = await startContainer(t, image, volume, podEnvironment)
    await untilHealthy(container)
    t.equal(post(container, 'fetch', '{"path":"a"}'), stored)
    for (const { path, port } of probes) {
      t.equal(container.curl('-f', '-o', '/dev/null', `http://127.0.0.1:${port}${path}`).status, 0, `${port}${path}`)
    }
    t.match(container.run('topicd', 'reload').output, 'workers replaced')
    await killWorker(container)
    t.equal(post(container, 'fetch', '{"path":"a"}'), stored)
    t.match(container.run('topicd', 'check').output, / 0 findings$/m)
    t.notMatch(container.log, token, 'nothing secret is logged')
    const { status } = await container.stop('SIGTERM')
    t.equal(status, 0)
  })

  await whole.test('the health check fails while the service is not ready, and gives the reason', async (t) => {
    const other = makeVolume('other', uid, gid, 0o700)
    // No disk is that large.
    const environment = { ...compose.environment, TOPICD_DISK_FREE_BYTES_MIN: String(2 ** 50) }
    const container = await startContainer(t, image, other, environment)
    const output = await until(
      'the service has looked at the disk',
      async () => {
        const { status, output } = healthOf(container)
        return status === 1 && output.includes('disk') ? output : undefined
      },
      readyMsMax,
    )
    t.match(output, /^HTTP\/1\.1 503 .*\n\r\nnot ready\n/s)
  })
})
