/** The parts of compose.yaml and of the manifests in docs/kubernetes.md that tests read. */
import { strict as assert } from 'node:assert'
import { parseYaml } from '@redocly/openapi-core'
import { blocksOf, readDocument } from './documents.js'

type Texts = Readonly<Record<string, string>>

interface ComposeService {
  readonly environment: Texts
  readonly secrets: readonly string[]
  readonly volumes: readonly string[]
  readonly ports: readonly string[]
  readonly stop_grace_period: string
  readonly healthcheck: { readonly test: readonly string[] }
}

/** The only service of compose.yaml. */
export function composeService(): ComposeService {
  return (parseYaml(readDocument('compose.yaml')) as { services: { topicd: ComposeService } }).services.topicd
}

interface Named {
  readonly name: string
}

interface Metadata extends Named {
  readonly labels: Texts
}

interface Service {
  readonly kind: 'Service'
  readonly metadata: Metadata
  readonly spec: { readonly selector: Texts; readonly ports: readonly { readonly targetPort: string }[] }
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface StatefulSet {
  readonly kind: 'StatefulSet'
  readonly spec: {
    readonly serviceName: string
    readonly replicas: number
    readonly selector: { readonly matchLabels: Texts }
    readonly template: { readonly metadata: Metadata; readonly spec: PodSpec }
    readonly volumeClaimTemplates: readonly { readonly metadata: Named }[]
  }
}

interface PodSpec {
  readonly enableServiceLinks: boolean
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: object
  readonly containers: readonly [PodContainer]
  readonly volumes: readonly (Named & { readonly secret: { readonly secretName: string } })[]
}

interface PodContainer {
  readonly env: readonly (Named & { readonly value: string })[]
  readonly ports: readonly (Named & { readonly containerPort: number })[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: object
  readonly volumeMounts: readonly (Named & { readonly mountPath: string })[]
}

/** The manifests of docs/kubernetes.md. */
export function kubernetesManifests(): { readonly service: Service; readonly set: StatefulSet } {
  const [block] = blocksOf(readDocument('docs/kubernetes.md'), 'yaml')
  const [service, set] = (block?.text ?? '').split(/^---$/m).map((part) => parseYaml(part) as Service | StatefulSet)
  assert(service?.kind === 'Service' && set?.kind === 'StatefulSet', 'the manifests are a Service and a StatefulSet')
  return { service, set }
}
