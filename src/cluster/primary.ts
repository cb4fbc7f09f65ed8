/**
 * How a service begins: settings → certificate → the lock on the directory → the port → and from then on supervisor.ts. What
 * cannot be had is said in one line, with the exit code of its reason. The primary never opens the store itself, and
 * imports nothing that could.
 */
import { type Config, type GivenSettings, readConfig, UsageError } from '../config.js'
import { exitCodes, fatal } from '../exit-codes.js'
import { createLog, type Logger } from '../ops/log.js'
import { readCertificate } from '../ops/tls.js'
import { connectToControl } from './control-socket.js'
import { type DirectoryLock, lockDirectory } from './directory.js'
import { listenProblem } from './listen-problem.js'
import { holdPort } from './port-hold.js'
import { Supervisor } from './supervisor.js'

/** How long to wait for the workers of a service that was killed, or for a command line tool, to let go. */
const directoryWaitMs = 15_000

/**
 * Runs the service until it is told to stop; the process then ends by itself, with the exit code set.
 *
 * @throws UsageError when a setting is wrong
 */
export async function runPrimary(flags: GivenSettings): Promise<void> {
  const log = createLog('primary')
  const config = readCheckedConfig(flags, log)
  const refuse = (code: number, reason: string): never => {
    log.fatal({ reason }, 'not started')
    return fatal(code, reason)
  }
  const lock = await claimDirectory(config.data)
  if (lock === undefined) return refuse(exitCodes.directoryInUse, `the data directory ${config.data} is in use by another topicd`)
  const held = await holdPort(config.host, config.port).catch((error: NodeJS.ErrnoException) =>
    refuse(exitCodes.portInUse, listenProblem(error, config.host, config.port)),
  )
  const supervisor = new Supervisor({
    config,
    readConfig: () => readCheckedConfig(flags, log),
    port: held.port,
    lockDescriptor: lock.descriptor,
    log,
    refuse,
  })
  await supervisor.start()
}

/** The lock on the directory; undefined when another service has it. */
async function claimDirectory(data: string): Promise<DirectoryLock | undefined> {
  const running = await connectToControl(data)
  running?.destroy()
  return running === undefined ? lockDirectory(data, directoryWaitMs) : undefined
}

/**
 * The settings as they are now, with a certificate and key that were tried, if they name any.
 *
 * @throws UsageError when something is wrong
 */
function readCheckedConfig(flags: GivenSettings, log: Logger): Config {
  const config = readConfig(flags)
  checkCertificate(config, log)
  return config
}

/** A certificate that will end within this is worth a warning at each start. */
const certificateMsMin = 7 * 24 * 60 * 60 * 1000

function checkCertificate({ tlsCert, tlsKey }: Config, log: Logger): void {
  if (tlsCert === '') return
  try {
    const { endMs } = readCertificate(tlsCert, tlsKey)
    const until = new Date(endMs).toISOString()
    if (endMs - Date.now() < certificateMsMin) log.warn({ until }, 'the certificate ends soon, or has ended')
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
