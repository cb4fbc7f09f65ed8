/**
 * Requests about API keys and their responses, as processes send them: types, and the error that guarantees that
 * nothing was changed.
 */
import type { Path } from '../topics/path.js'
import type { Maker } from './makers.js'
import type { KeyRecord, KeyRotation, ListedKey } from './record.js'

/** A subtree of a key may be any string when it arrives. */
export type KeyRequest<Subtree extends string = Path> = (
  | { readonly command: 'addKey'; readonly record: KeyRecord<Subtree> }
  | { readonly command: 'rotateKey'; readonly rotation: KeyRotation }
  | { readonly command: 'revokeKey'; readonly name: string }
  | { readonly command: 'listKeys' }
) & { readonly by?: Caller }

/** The maker of a request in the console, and the request's origin. The command line has no caller. */
export interface Caller extends Maker {
  /** The other end of the connection, perhaps a proxy. */
  readonly address: string
  /** The header `x-forwarded-for`, which anyone can send. */
  readonly forwardedFor: string
}

export type KeyCommand = KeyRequest['command']

export type KeyRequestOf<Command extends KeyCommand> = KeyRequest & { readonly command: Command }

export interface KeyResponses {
  /** True for `added` and false for `name_taken`, as in version 1.0.0. `forbidden` occurs only if the request has a caller. */
  readonly addKey: boolean | 'token_taken' | 'forbidden'
  /** Whether the key was rotated; for `revokeKey`, whether it was revoked. */
  readonly rotateKey: boolean
  readonly revokeKey: boolean
  readonly listKeys: readonly ListedKey[]
}

/** After a change, `late` contains the process ids of the workers that may still use the former keys. */
export interface KeyResponse<Command extends KeyCommand = KeyCommand> {
  readonly response: KeyResponses[Command]
  readonly late?: readonly number[]
}

/** Sends a request about API keys; rejects if no response arrives. */
export type SendKeyRequest = <Command extends KeyCommand>(
  request: KeyRequestOf<Command>,
) => Promise<KeyResponses[Command]>

/** The request about API keys had no effect and will have none. */
export class NothingDone extends Error {}
