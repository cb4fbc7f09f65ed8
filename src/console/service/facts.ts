/** Facts about the service, as names and text: versions, times, sizes. */
import type { Facts } from '../../ops/figures/console-state.js'
import { formatBytes, formatClock, formatSpan, formatTime, formatWhole, unknown } from '../shared/formats.js'

interface Basis {
  readonly facts: Facts
  /** The time on the service's clock. */
  readonly nowS: number
  /** The version that served the page; undefined until it is known. */
  readonly pageVersion: string | undefined
}

interface Fact {
  readonly name: string
  readonly text: string
  /** True if the operator should act. */
  readonly isBad: boolean
}

/** Undefined for an unknown fact, null for one that does not apply to this service. */
type Words = string | { readonly bad: string } | undefined | null

const dayS = 24 * 60 * 60

/** A certificate that expires sooner must be renewed. */
const certificateS = 14 * dayS

const all: readonly (readonly [name: string, of: (facts: Facts, basis: Basis) => Words])[] = [
  ['Version', versionOf],
  ['Node.js', ({ node }) => node?.replace(/^v/, '')],
  ['Workers', workersOf],
  ['Worker restarts', ({ workerRestarts, recentWorkerRestarts }) => restartsOf(workerRestarts, recentWorkerRestarts)],
  ['Writer', writerOf],
  [
    'Writer restarts',
    ({ writerUp, writerRestarts, recentWriterRestarts }) =>
      writerUp === undefined ? null : restartsOf(writerRestarts, recentWriterRestarts),
  ],
  ['Started', ({ startedS }, basis) => (startedS === undefined ? undefined : ago(startedS, basis))],
  ['Last reload', reloadOf],
  ['Last backup', backupOf],
  ['Certificate', certificateOf],
  ['Topics', ({ topics }) => whole(topics)],
  ['Store size', ({ storeBytes }) => (storeBytes === undefined ? undefined : formatBytes(storeBytes))],
]

export function factsOf(basis: Basis): Fact[] {
  return all.flatMap(([name, of]) => {
    const words = of(basis.facts, basis)
    if (words === null) return []
    const isBad = typeof words === 'object'
    return [{ name, text: isBad ? words.bad : (words ?? unknown), isBad }]
  })
}

const whole = (count: number | undefined): string => (count === undefined ? unknown : formatWhole(count))

/** The age and the time, with the date if it is at least a day ago. */
function ago(timeS: number, { nowS }: Basis): string {
  const agoS = nowS - timeS
  return `${formatSpan(agoS)} ago, ${agoS < dayS ? formatClock(timeS, false) : formatTime(timeS)}`
}

function versionOf({ version }: Facts, { pageVersion }: Basis): Words {
  if (version === undefined || pageVersion === undefined || version === pageVersion) return version
  return { bad: `${version}; this page is from ${pageVersion}: reload it` }
}

/** Only recent restarts are bad, because an old restart needs no attention. */
function restartsOf(restarts: number | undefined, recent: number): Words {
  if (restarts === undefined || !(recent > 0)) return whole(restarts)
  return { bad: `${whole(restarts)}, ${whole(recent)} of them recently` }
}

/** Null if the engine has no writer. A missing spare is not bad: it only slows down the next replacement. */
function writerOf({ writerUp, writerSpareUp }: Facts): Words {
  if (writerUp === undefined) return null
  if (!(writerUp > 0)) return { bad: 'not running: writes are waiting' }
  if (writerSpareUp === undefined) return 'running'
  return writerSpareUp > 0 ? 'running, with a spare' : 'running, no spare yet'
}

/** Shows the workers' versions only if they differ from each other or from the primary's. */
function workersOf({ version, workers, workerVersions = {} }: Facts): Words {
  const names = Object.keys(workerVersions)
  const versions = names.map((name) => `${workerVersions[name]} of version ${name}`).join(', ')
  if (workers === 0) return { bad: '0: no worker is serving' }
  if (names.length > 1) return { bad: `several versions: ${versions}` }
  return names.some((name) => name !== version) ? versions : whole(workers)
}

/** The service counts its start as a reload, so a reload at the start is not shown. */
function reloadOf({ reloadSuccessful, reloadSuccessS, startedS = 0 }: Facts, basis: Basis): Words {
  if (reloadSuccessS === undefined) return undefined
  const time = ago(reloadSuccessS, basis)
  if (reloadSuccessful === 0) return { bad: `failed; settings in use were loaded ${time}` }
  return reloadSuccessS > startedS ? time : 'none since the start'
}

/** Null for PostgreSQL, which has its own backups. Only PostgreSQL has no minimum for free disk space. */
function backupOf({ backupS, topics, diskFreeBytesMin }: Facts, basis: Basis): Words {
  if (backupS !== undefined) return ago(backupS, basis)
  if (topics === undefined) return undefined
  return diskFreeBytesMin === undefined ? null : 'none yet'
}

function certificateOf({ certificateExpiresS }: Facts, { nowS }: Basis): Words {
  if (certificateExpiresS === undefined) return null
  const leftS = certificateExpiresS - nowS
  const time = formatTime(certificateExpiresS)
  if (leftS <= 0) return { bad: `expired on ${time}` }
  const text = `expires in ${formatSpan(leftS)}, on ${time}`
  return leftS < certificateS ? { bad: `${text}: renew it` } : text
}
