/**
 * The start of a service: settings → certificate → the lock on the directory → the port → supervisor.ts. If a step fails,
 * a message and the exit code give the reason. The primary never opens the store, and imports no code that could.
 */

import { hashToken, readTokenFile } from '../../auth/token.js'
import { exitCodes } from '../../base/exit-codes.js'
import { fatal } from '../../base/stderr.js'
import { createLog, logCrashes } from '../../ops/log.js'
import { readCertificate, watchCertificate } from '../../ops/tls.js'
import { type Config, type GivenSettings, portsProblem, readConfig, UsageError } from '../../settings/config.js'
import { connectToControl } from '../control/socket.js'
import { type DirectoryLock, exposure, lockDirectory } from '../directory-lock.js'
import { holdPort, listenExitCode, listenProblem } from '../listening.js'
import { type ReadSettings, Supervisor } from './supervisor.js'

/** Maximum wait for the processes of a killed service, or a command-line tool, to release the lock. */
const directoryWaitMs = 15_000

/** Exits the process once the service has stopped, with the exit code that gives the reason. @throws UsageError if a setting is wrong */
export async function runPrimary(flags: GivenSettings): Promise<void> {
  const log = createLog('primary')
  logCrashes(log)
  const settings = readSettings(flags)
  const { config } = settings
  const watch = watchCertificate(log)
  watch.use(settings.certificate)
  const refuse = (code: number, reason: string): never => {
    log.fatal({ reason }, 'not started')
    return fatal(code, reason)
  }
  const lock = await claimDirectory(config.data)
  if (lock === undefined)
    return refuse(exitCodes.directoryInUse, `the data directory ${config.data} is in use by another topicd`)
  const open = exposure(config.data)
  if (open !== undefined)
    log.warn({ data: config.data, mode: open.mode }, `other accounts can access the data directory; ${open.cure}`)
  const port = await holdPort(config.host, config.port).catch((error: NodeJS.ErrnoException) =>
    refuse(listenExitCode(error), listenProblem(error, config.host, config.port)),
  )
  const supervisor = new Supervisor({
    config,
    firstTokenHash: readFirstToken(config),
    readSettings: () => readSettings(flags),
    useCertificate: watch.use,
    certificateExpiresMs: watch.expiresMs,
    port,
    lockDescriptor: lock.descriptor,
    log,
    refuse,
  })
  await supervisor.start()
}

async function claimDirectory(data: string): Promise<DirectoryLock | undefined> {
  const running = await connectToControl(data)
  running?.destroy()
  return running === undefined ? lockDirectory(data, directoryWaitMs) : undefined
}

/** Reads the settings and the certificate's files. @throws UsageError if this fails */
function readSettings(flags: GivenSettings): ReadSettings {
  const config = readConfig(flags)
  const problem = portsProblem(config)
  if (problem !== undefined) throw new UsageError(problem)
  const { tlsCert, tlsKey } = config
  return { config, certificate: tlsCert === '' ? undefined : usable(() => readCertificate(tlsCert, tlsKey)) }
}

/** The hash of the first key's token, if a file contains it. Read only at the start, when the key may be created. */
function readFirstToken({ firstKeyFile }: Config): string | undefined {
  return firstKeyFile === '' ? undefined : usable(() => hashToken(readTokenFile(firstKeyFile)))
}

function usable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
