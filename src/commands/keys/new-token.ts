/**
 * Issues a token. The token is printed before any key has it: if the command is killed, no unseen token is valid, and exit
 * status 0 means that the printed one is valid. A token is reported as invalid only if it can no longer become valid: a
 * worker that did not respond may have stored it, or may still do so.
 */
import { exitCodes } from '../../base/exit-codes.js'
import { fatal } from '../../base/stderr.js'
import { persistently } from '../../cluster/control/persistently.js'
import { MalformedRequest } from '../../cluster/control/protocol.js'
import { NothingDone, type SendKeyRequest } from '../../keys/requests.js'
import type { Config } from '../../settings/config.js'
import { OutputClosed, print } from '../stdout.js'
import { requestsTo } from '../store/store-client.js'

/** The time for which a request without a response is repeated: a stopping service is gone or restarted within seconds. */
const requestMsMax = 30_000

interface Issue {
  /** Gives the token to its key; a request sent through `send` may be repeated. @returns the reason for a failure, as a clause */
  readonly store: (send: SendKeyRequest) => Promise<string | undefined>
  /** The state if nothing was changed, as a clause. */
  readonly unchanged: string
  /** The possible state if no response arrived, and the remedy, as a clause. */
  readonly unknown: string
}

/**
 * Prints the token and gives it to its key; if that fails, exits with a message.
 *
 * @param shown undefined for a token that is not printed
 */
export async function issueToken(config: Config, shown: string | undefined, issue: Issue): Promise<void> {
  if (shown !== undefined)
    await print(`${shown}\n`).catch((error: Error) =>
      refuse(`${error instanceof OutputClosed ? 'standard output is closed' : error.message}; ${issue.unchanged}`),
    )
  const isVoid = shown === undefined ? '' : '; the token printed above is not valid'
  const send = requestsTo(config)
  const refusal = await issue
    .store((request) => persistently(() => send(request), requestMsMax))
    .catch((error: Error) => refuse(`${error.message}; ${consequence(error, issue, isVoid)}`))
  if (refusal !== undefined) refuse(`${refusal}${isVoid}`)
}

const refuse = (reason: string): never => fatal(exitCodes.failed, reason)

function consequence(error: Error, { unchanged, unknown }: Issue, isVoid: string): string {
  if (error instanceof MalformedRequest) return `the running service may be an earlier version; restart it${isVoid}`
  return error instanceof NothingDone ? `${unchanged}${isVoid}` : unknown
}
