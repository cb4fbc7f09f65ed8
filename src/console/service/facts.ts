/** Facts about the service in words: versions, times, sizes. Each is a name and a text. */
import type { Facts } from '../../ops/figures/console-state.js'
import { formatBytes, formatClock, formatSpan, formatTime, formatWhole, unknown } from './formats.js'

interface FactsBasis {
  readonly facts: Facts
  /** By the service's clock. */
  readonly nowS: number
  /** The version that served the page; undefined before it is known. */
  readonly pageVersion: string | undefined
}

interface Fact {
  readonly name: string
  readonly text: string
  /** Someone should act. */
  readonly isBad?: boolean
}

const dayS = 24 * 60 * 60

/** If less is left of a certificate, someone has to renew it. */
const certificateS = 14 * dayS

export function factsOf(basis: FactsBasis): Fact[] {
  const { facts } = basis
  const { node, startedS, topics, storeBytes, workerRestarts, recentWorkerRestarts } = facts
  return [
    versionFact(basis),
    { name: 'Node.js', text: node?.replace(/^v/, '') ?? unknown },
    workersFact(facts),
    restartsFact('Worker restarts', workerRestarts, recentWorkerRestarts),
    ...writerFacts(facts),
    { name: 'Started', text: startedS === undefined ? unknown : ago(startedS, basis) },
    reloadFact(basis),
    ...backupFact(basis),
    ...certificateFact(basis),
    { name: 'Topics', text: whole(topics) },
    { name: 'Store size', text: storeBytes === undefined ? unknown : formatBytes(storeBytes) },
  ]
}

const whole = (count: number | undefined): string => (count === undefined ? unknown : formatWhole(count))

/** With the date if the time of day alone may be yesterday's. */
function ago(timeS: number, { nowS }: FactsBasis): string {
  const agoS = nowS - timeS
  return `${formatSpan(agoS)} ago, ${agoS < dayS ? formatClock(timeS, false) : formatTime(timeS)}`
}

function versionFact({ facts: { version }, pageVersion }: FactsBasis): Fact {
  const name = 'Version'
  if (version === undefined || pageVersion === undefined) return { name, text: version ?? unknown }
  if (version === pageVersion) return { name, text: version }
  return { name, text: `${version}; this page is from ${pageVersion}: reload it`, isBad: true }
}

/** Bad only for as long as charts are kept: a restart a year ago needs no one's attention. */
function restartsFact(name: string, restarts: number | undefined, recent: number): Fact {
  if (restarts === undefined || !(recent > 0)) return { name, text: whole(restarts) }
  return { name, text: `${whole(restarts)}, ${whole(recent)} of them recently`, isBad: true }
}

/** None if the engine has no writer. Without a spare, only the next replacement is slower. */
function writerFacts({ writerUp, writerSpareUp, writerRestarts, recentWriterRestarts }: Facts): Fact[] {
  if (writerUp === undefined) return []
  const spare = writerSpareUp === undefined ? '' : writerSpareUp > 0 ? ', with a spare' : ', without a spare yet'
  return [
    writerUp > 0
      ? { name: 'Writer', text: `running${spare}` }
      : { name: 'Writer', text: 'not running: writes are waiting', isBad: true },
    restartsFact('Writer restarts', writerRestarts, recentWriterRestarts),
  ]
}

/** The primary's version is a separate fact, so the workers' are named if they differ. */
function workersFact({ version, workers, workerVersions = {} }: Facts): Fact {
  const names = Object.keys(workerVersions)
  const differ = names.some((name) => name !== version)
  const versions = names.map((name) => `${workerVersions[name]} of version ${name}`).join(', ')
  const name = 'Workers'
  if (workers === 0) return { name, text: '0: none serves', isBad: true }
  if (names.length > 1) return { name, text: `several versions: ${versions}`, isBad: true }
  return { name, text: differ ? versions : whole(workers) }
}

/** The start counts as a reload for the service, which then reports the time of the start. */
function reloadFact(basis: FactsBasis): Fact {
  const { reloadSuccessful, reloadSuccessS, startedS = 0 } = basis.facts
  const name = 'Last reload'
  if (reloadSuccessS === undefined) return { name, text: unknown }
  const time = ago(reloadSuccessS, basis)
  if (reloadSuccessful === 0) return { name, text: `failed; settings in use since ${time}`, isBad: true }
  return { name, text: reloadSuccessS > startedS ? time : 'none since the start' }
}

/** None if the topics are in PostgreSQL, which has its own backups: only there, no mark of the disk is reported. */
function backupFact(basis: FactsBasis): Fact[] {
  const { backupS, topics, diskFreeBytesMin } = basis.facts
  const name = 'Last backup'
  if (backupS !== undefined) return [{ name, text: ago(backupS, basis) }]
  if (topics === undefined) return [{ name, text: unknown }]
  return diskFreeBytesMin === undefined ? [] : [{ name, text: 'none yet' }]
}

function certificateFact({ facts: { certificateExpiresS }, nowS }: FactsBasis): Fact[] {
  if (certificateExpiresS === undefined) return []
  const leftS = certificateExpiresS - nowS
  const name = 'Certificate'
  if (leftS <= 0) return [{ name, text: `expired on ${formatTime(certificateExpiresS)}`, isBad: true }]
  const text = `expires in ${formatSpan(leftS)}, on ${formatTime(certificateExpiresS)}`
  return [leftS < certificateS ? { name, text: `${text}: renew it`, isBad: true } : { name, text }]
}
