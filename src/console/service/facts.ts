/** What the page says of the service in words: versions, times, sizes. Each fact is a name and a text. */
import { formatBytes, formatSpan, formatTime, formatWhole, unknown } from './formats.js'
import type { Reading } from './reading.js'

interface Fact {
  readonly name: string
  readonly text: string
  /** Somebody should do something. */
  readonly isBad?: boolean
}

const dayS = 24 * 60 * 60

/** With less left of its certificate, somebody has to renew it. */
const certificateS = 14 * dayS

export function factsOf(reading: Reading): Fact[] {
  const { version, node, startedS, restarts, topics, storeBytes } = reading
  return [
    { name: 'Version', text: version ?? unknown },
    { name: 'Node.js', text: node?.replace(/^v/, '') ?? unknown },
    workersFact(reading),
    { name: 'Workers replaced after they died', text: whole(restarts) },
    { name: 'Started', text: startedS === undefined ? unknown : ago(startedS, reading) },
    reloadFact(reading),
    ...backupFact(reading),
    ...certificateFact(reading),
    { name: 'Topics', text: whole(topics) },
    { name: 'Size of the store', text: storeBytes === undefined ? unknown : formatBytes(storeBytes) },
  ]
}

const whole = (count: number | undefined): string => (count === undefined ? unknown : formatWhole(count))

const ago = (timeS: number, { serviceS }: Reading): string =>
  `${formatSpan(serviceS - timeS)} ago, ${formatTime(timeS)}`

/** The primary's version is a fact of its own, so the workers' are named where they differ. */
function workersFact({ version, workers, workerVersions }: Reading): Fact {
  const differ = workerVersions.some((of) => of.version !== version)
  const versions = workerVersions.map((of) => `${of.workers} of version ${of.version}`).join(', ')
  return {
    name: 'Workers',
    text: differ ? versions : whole(workers),
    isBad: workers === 0 || workerVersions.length > 1,
  }
}

/** The start counts as the first reload. */
function reloadFact(reading: Reading): Fact {
  const { reload } = reading
  if (reload === undefined) return { name: 'Last reload', text: unknown }
  const time = ago(reload.successS, reading)
  if (reload.successful) return { name: 'Last reload', text: `succeeded ${time}` }
  return { name: 'Last reload', text: `failed; the settings are those of ${time}`, isBad: true }
}

/** None where the topics are in PostgreSQL, whose backups are its own: only there, no mark of the disk is reported. */
function backupFact(reading: Reading): Fact[] {
  const { backupS, topics, diskFreeBytesMin } = reading
  const name = 'Last backup'
  if (backupS !== undefined) return [{ name, text: ago(backupS, reading) }]
  if (topics === undefined) return [{ name, text: unknown }]
  return diskFreeBytesMin === undefined ? [] : [{ name, text: 'none yet' }]
}

function certificateFact({ certificateEndS, serviceS }: Reading): Fact[] {
  if (certificateEndS === undefined) return []
  const leftS = certificateEndS - serviceS
  const name = 'Certificate'
  if (leftS <= 0) return [{ name, text: `ended on ${formatTime(certificateEndS)}`, isBad: true }]
  const text = `ends in ${formatSpan(leftS)}, on ${formatTime(certificateEndS)}`
  return [{ name, text, isBad: leftS < certificateS }]
}
