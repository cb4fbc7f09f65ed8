/**
 * The audit of API keys: one line in the log for each change, whoever makes it, and for each that the key of an administrator
 * may not make. It names keys, and never contains a token or a hash of one.
 */
import type { Peer } from '../http/answer.js'
import type { Logger } from './log.js'

export interface KeyChange {
  readonly change: 'create' | 'rotate' | 'revoke'
  /** The name of the key that is changed. */
  readonly key: string
  /** The name of the key that makes the change; undefined for the command line. */
  readonly by: string | undefined
  readonly peer: Peer | undefined
  /** `done`, or why not. */
  readonly outcome: string
  /** What a key that is created may do. */
  readonly allow?: readonly string[]
}

/** Of a header that anyone can send: more than any list of proxies needs. */
const forwardedMax = 200

export function logKeyChange(log: Logger, { change, key, by, peer, outcome, allow }: KeyChange): void {
  const { address, forwardedFor = '' } = peer ?? {}
  const forwarded = forwardedFor === '' ? undefined : forwardedFor.slice(0, forwardedMax)
  const maker = by === undefined ? { from: 'command line' } : { from: 'console', by, address, forwardedFor: forwarded }
  log.info({ change, key, allow, ...maker, outcome }, 'API key change')
}
