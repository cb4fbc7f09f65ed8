/** compose.yaml and the manifests of docs/kubernetes.md, as tests read them: the members that tests look at. */
import { parseYaml } from '@redocly/openapi-core'
import { blocksOf, readDocument } from './documents.js'

export interface ComposeService {
  readonly environment: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
  readonly volumes: readonly string[]
  readonly ports: readonly string[]
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly stop_grace_period: string
  readonly healthcheck: { readonly test: readonly string[] }
  readonly pids_limit: number
}

/** The one service of compose.yaml. */
export function composeService(): ComposeService {
  return (parseYaml(readDocument('compose.yaml')) as { services: { topicd: ComposeService } }).services.topicd
}

interface Labelled {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
}

export interface Service extends Labelled {
  readonly kind: 'Service'
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[]
  }
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

export interface StatefulSet extends Labelled {
  readonly kind: 'StatefulSet'
  readonly spec: {
    readonly serviceName: string
    readonly replicas: number
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly template: { readonly metadata: Labelled['metadata']; readonly spec: PodSpec }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
  }
}

interface PodSpec {
  readonly enableServiceLinks: boolean
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: {
    readonly runAsUser: number
    readonly runAsGroup: number
    readonly fsGroup: number
    readonly runAsNonRoot: boolean
  }
  readonly containers: readonly [PodContainer]
  readonly volumes: readonly { readonly name: string; readonly secret: { readonly secretName: string } }[]
}

interface PodContainer {
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly resources: Readonly<Record<'requests' | 'limits', Readonly<Record<'cpu' | 'memory', string>>>>
  readonly securityContext: {
    readonly allowPrivilegeEscalation: boolean
    readonly readOnlyRootFilesystem: boolean
    readonly capabilities: { readonly drop: readonly string[] }
  }
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

/** The manifests of docs/kubernetes.md. */
export function kubernetesManifests(): { readonly service: Service; readonly set: StatefulSet } {
  const [block] = blocksOf(readDocument('docs/kubernetes.md'), 'yaml')
  const [service, set] = (block?.text ?? '').split(/^---$/m).map((part) => parseYaml(part) as Service | StatefulSet)
  if (service?.kind !== 'Service' || set?.kind !== 'StatefulSet')
    throw new Error('docs/kubernetes.md has other manifests than a Service and a StatefulSet')
  return { service, set }
}
