/** compose.yaml and the manifests of docs/kubernetes.md agree with the image, with each other and with the program. */
import t from 'tap'
import { environmentName, isProblem, parseSetting, type Setting, settingTable } from '../../dist/settings/table.js'
import { composeService, kubernetesManifests } from '../support/deployment.js'
import { readDocument } from '../support/documents.js'

const containerfile = readDocument('Containerfile')
const account = Number(/^USER (\d+):\1$/m.exec(containerfile)?.[1])
const dataDirectory = /^VOLUME (.+)$/m.exec(containerfile)?.[1]

const defaultOf = (name: keyof typeof settingTable): number => Number(settingTable[name].default)

/** The grace period after the drain timeout, before SIGKILL: src/cluster/primary/workers.ts. */
const drainGraceMs = 3000

/** The problems of environment variables for the service. */
function problemsOf(environment: Readonly<Record<string, string>>): string[] {
  const settings = new Map<string, Setting>(
    Object.entries(settingTable).map(([name, setting]) => [environmentName(name), setting]),
  )
  return Object.entries(environment).flatMap(([name, text]) => {
    const setting = settings.get(name)
    if (setting === undefined) return `${name} is not a setting`
    const value = parseSetting(setting, text, name)
    return isProblem(value) ? value.problem : []
  })
}

t.test('compose.yaml agrees with the image and the settings', async (t) => {
  const service = composeService()
  t.strictSame(problemsOf(service.environment), [])
  t.equal(service.environment.TOPICD_FIRST_KEY_FILE, `/run/secrets/${service.secrets[0]}`)
  t.strictSame(service.volumes, [`data:${dataDirectory}`])
  t.strictSame(service.ports, [`127.0.0.1:8080:${defaultOf('port')}`], 'accessible only from this machine')
  t.match(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  t.ok(Number.parseInt(service.stop_grace_period, 10) * 1000 > defaultOf('drain-ms') + drainGraceMs)
  const health = /^HEALTHCHECK .* CMD (\[.+\])$/m.exec(containerfile)?.[1] ?? ''
  t.strictSame(service.healthcheck.test, ['CMD', ...(JSON.parse(health) as string[])], "the image's health check")
  t.match(health, `/dev/tcp/127.0.0.1/${defaultOf('admin-port')} `)
})

t.test('the pod in docs/kubernetes.md agrees with the image and the settings', async (t) => {
  const { spec } = kubernetesManifests().set.spec.template
  const [container] = spec.containers
  const environment = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
  t.strictSame(problemsOf(environment), [])
  t.equal(spec.enableServiceLinks, false)
  t.ok(spec.terminationGracePeriodSeconds * 1000 > defaultOf('drain-ms') + drainGraceMs)
  t.match(spec.securityContext, { runAsUser: account, runAsGroup: account, fsGroup: account, runAsNonRoot: true })
  t.match(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  t.equal(environment.TOPICD_ADMIN_HOST, '0.0.0.0', 'the kubelet reaches the probes')
  t.strictSame(
    container.ports.map(({ containerPort }) => containerPort),
    [defaultOf('port'), defaultOf('admin-port')],
  )
  const port = container.ports.find(({ containerPort }) => containerPort === defaultOf('admin-port'))?.name
  t.strictSame(container.startupProbe.httpGet, { path: '/healthz', port })
  t.strictSame(container.livenessProbe.httpGet, { path: '/healthz', port })
  t.strictSame(container.readinessProbe.httpGet, { path: '/readyz', port })
})

t.test('the manifests in docs/kubernetes.md refer to each other correctly', async (t) => {
  const { service, set } = kubernetesManifests()
  const { template, selector, volumeClaimTemplates, serviceName, replicas } = set.spec
  const [container] = template.spec.containers
  t.equal(replicas, 1)
  t.equal(serviceName, service.metadata.name)
  t.strictSame(selector.matchLabels, template.metadata.labels)
  t.strictSame(service.spec.selector, template.metadata.labels)
  t.strictSame(
    service.spec.ports.map(({ targetPort }) => container.ports.find(({ name }) => name === targetPort)?.containerPort),
    [defaultOf('port')],
    'the Service has the API port and no other',
  )
  const volumes = [
    ...template.spec.volumes.map(({ name }) => name),
    ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
  ]
  t.strictSame(container.volumeMounts.map(({ name }) => name).sort(), volumes.sort())
  const mountOf = (volume: string | undefined) => container.volumeMounts.find(({ name }) => name === volume)?.mountPath
  t.equal(mountOf(volumeClaimTemplates[0]?.metadata.name), dataDirectory)
  const [secret] = template.spec.volumes
  const [, name, key] =
    /create secret generic ([\w-]+) --from-literal=(\w+)=/.exec(readDocument('docs/kubernetes.md')) ?? []
  t.equal(secret?.secret.secretName, name)
  const file = container.env.find(({ name }) => name === 'TOPICD_FIRST_KEY_FILE')?.value
  t.equal(file, `${mountOf(secret?.name)}/${key}`)
})
