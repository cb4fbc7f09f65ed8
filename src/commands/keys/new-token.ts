/**
 * How a command issues a token. It is written before any key has it. So if the command is ended in between, no token is
 * valid that was never shown, and a token that is not valid comes only with an exit status other than 0. A token is
 * reported as void only when it cannot become valid any more: a worker that did not respond may have stored it, or may
 * still do so.
 */

import { exitCodes } from '../../base/exit-codes.js'
import { fatal } from '../../base/stderr.js'
import type { SendKeyRequest } from '../../cluster/control/messages.js'
import { MalformedRequest } from '../../cluster/control/protocol.js'
import { NothingDone } from '../../cluster/messages.js'
import type { Config } from '../../settings/config.js'
import { OutputClosed, print } from '../stdout.js'
import { persistentRequestsTo } from '../store/store-client.js'

interface Issue {
  /** Gives the token to its key; false when that is impossible. Its requests may be repeated. */
  readonly store: (send: SendKeyRequest) => Promise<boolean>
  /** What is so when nothing was done, as a clause. */
  readonly unchanged: string
  /** What is not known when no response came, and what to do, as a clause. */
  readonly unknown: string
  /** Why it was impossible, as a clause. */
  readonly impossible: string
}

/** Prints the token and gives it to its key; ends the process, with a message, when that fails. */
export async function issueToken(location: Config, token: string, issue: Issue): Promise<void> {
  await print(`${token}\n`).catch((error: Error) =>
    fatal(
      exitCodes.failed,
      `${error instanceof OutputClosed ? 'nobody reads standard output' : error.message}; ${issue.unchanged}`,
    ),
  )
  await storeToken(location, issue, '; the token that was just printed is void')
}

/**
 * Gives a key its token; ends the process, with a message, when that fails.
 *
 * @param isVoid what is said of the token when no key has it
 */
export async function storeToken(location: Config, issue: Issue, isVoid = ''): Promise<void> {
  const isStored = await issue
    .store(persistentRequestsTo(location))
    .catch((error: Error) => fatal(exitCodes.failed, `${error.message}; ${consequence(error, issue, isVoid)}`))
  if (!isStored) fatal(exitCodes.failed, `${issue.impossible}${isVoid}`)
}

function consequence(error: Error, { unchanged, unknown }: Issue, isVoid: string): string {
  if (error instanceof MalformedRequest)
    return `the service may be of an earlier version, until it is restarted${isVoid}`
  return error instanceof NothingDone ? `${unchanged}${isVoid}` : unknown
}
