/** Facts about the service in words: versions, times, sizes. Each is a name and a text. */
import { formatBytes, formatClock, formatSpan, formatTime, formatWhole, unknown } from './formats.js'
import { historyS } from './history.js'
import type { Reading } from './reading.js'

export interface FactsBasis {
  readonly reading: Reading
  /** The first kept reading of the same run of the service. */
  readonly first: Reading
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
  const { reading } = basis
  const { node, startedS, topics, storeBytes } = reading
  return [
    versionFact(basis),
    { name: 'Node.js', text: node?.replace(/^v/, '') ?? unknown },
    workersFact(reading),
    restartsFact('Worker restarts', ({ restarts }) => restarts, basis),
    ...writerFacts(basis),
    { name: 'Started', text: startedS === undefined ? unknown : ago(startedS, reading) },
    reloadFact(reading),
    ...backupFact(reading),
    ...certificateFact(reading),
    { name: 'Topics', text: whole(topics) },
    { name: 'Store size', text: storeBytes === undefined ? unknown : formatBytes(storeBytes) },
  ]
}

const whole = (count: number | undefined): string => (count === undefined ? unknown : formatWhole(count))

/** With the date if the time of day alone may be yesterday's. */
function ago(timeS: number, { serviceS }: Reading): string {
  const agoS = serviceS - timeS
  return `${formatSpan(agoS)} ago, ${agoS < dayS ? formatClock(timeS, false) : formatTime(timeS)}`
}

function versionFact({ reading: { version }, pageVersion }: FactsBasis): Fact {
  const name = 'Version'
  if (version === undefined || pageVersion === undefined) return { name, text: version ?? unknown }
  if (version === pageVersion) return { name, text: version }
  return { name, text: `${version}; this page is from ${pageVersion}: reload it`, isBad: true }
}

/** Bad only for as long as charts are kept: a restart a year ago needs no one's attention. */
function restartsFact(
  name: string,
  restartsIn: (reading: Reading) => number | undefined,
  { reading, first }: FactsBasis,
): Fact {
  const { startedS, serviceS } = reading
  const restarts = restartsIn(reading)
  if (restarts === undefined) return { name, text: unknown }
  const isYoung = startedS !== undefined && serviceS - startedS < historyS
  const lately = isYoung ? restarts : restarts - (restartsIn(first) ?? restarts)
  if (lately <= 0) return { name, text: whole(restarts) }
  return { name, text: `${whole(restarts)}, ${whole(lately)} of them recently`, isBad: true }
}

/** None if the engine has no writer. Without a spare, only the next replacement is slower. */
function writerFacts(basis: FactsBasis): Fact[] {
  const { writerUp, writerSpareUp } = basis.reading
  if (writerUp === undefined) return []
  const spare = writerSpareUp === undefined ? '' : writerSpareUp > 0 ? ', with a spare' : ', without a spare yet'
  return [
    writerUp > 0
      ? { name: 'Writer', text: `running${spare}` }
      : { name: 'Writer', text: 'not running: writes are waiting', isBad: true },
    restartsFact('Writer restarts', ({ writerRestarts }) => writerRestarts, basis),
  ]
}

/** The primary's version is a separate fact, so the workers' are named if they differ. */
function workersFact({ version, workers, workerVersions }: Reading): Fact {
  const differ = workerVersions.some((of) => of.version !== version)
  const versions = workerVersions.map((of) => `${of.workers} of version ${of.version}`).join(', ')
  const name = 'Workers'
  if (workers === 0) return { name, text: '0: none serves', isBad: true }
  if (workerVersions.length > 1) return { name, text: `several versions: ${versions}`, isBad: true }
  return { name, text: differ ? versions : whole(workers) }
}

/** The start counts as a reload for the service, which then reports the time of the start. */
function reloadFact(reading: Reading): Fact {
  const { reload, startedS = 0 } = reading
  const name = 'Last reload'
  if (reload === undefined) return { name, text: unknown }
  const time = ago(reload.successS, reading)
  if (!reload.successful) return { name, text: `failed; settings in use since ${time}`, isBad: true }
  return { name, text: reload.successS > startedS ? time : 'none since the start' }
}

/** None if the topics are in PostgreSQL, which has its own backups: only there, no mark of the disk is reported. */
function backupFact(reading: Reading): Fact[] {
  const { backupS, topics, diskFreeBytesMin } = reading
  const name = 'Last backup'
  if (backupS !== undefined) return [{ name, text: ago(backupS, reading) }]
  if (topics === undefined) return [{ name, text: unknown }]
  return diskFreeBytesMin === undefined ? [] : [{ name, text: 'none yet' }]
}

function certificateFact({ certificateExpiresS, serviceS }: Reading): Fact[] {
  if (certificateExpiresS === undefined) return []
  const leftS = certificateExpiresS - serviceS
  const name = 'Certificate'
  if (leftS <= 0) return [{ name, text: `expired on ${formatTime(certificateExpiresS)}`, isBad: true }]
  const text = `expires in ${formatSpan(leftS)}, on ${formatTime(certificateExpiresS)}`
  return [leftS < certificateS ? { name, text: `${text}: renew it`, isBad: true } : { name, text }]
}
