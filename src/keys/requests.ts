/**
 * Requests about API keys and their responses, as processes send them: types, and the failure of which it is certain that
 * nothing was changed.
 */
import type { Path } from '../topics/path.js'
import type { Maker } from './makers.js'
import type { KeyRecord, KeyRotation, ListedKey } from './record.js'

/** As it arrives, a subtree of a key may be any string. */
export type KeyRequest<Subtree extends string = Path> = (
  | { readonly command: 'addKey'; readonly record: KeyRecord<Subtree> }
  | { readonly command: 'rotateKey'; readonly rotation: KeyRotation }
  | { readonly command: 'revokeKey'; readonly name: string }
  | { readonly command: 'listKeys' }
) & { readonly by?: Caller }

/** The maker of a request in the console, and where it came from. The command line has none. */
export interface Caller extends Maker {
  /** The other end of the connection, perhaps a proxy. */
  readonly address: string
  /** The header `x-forwarded-for`, which anyone can send. */
  readonly forwardedFor: string
}

export type KeyCommand = KeyRequest['command']

export type KeyRequestOf<Command extends KeyCommand> = KeyRequest & { readonly command: Command }

export interface KeyResponses {
  /** True for `added`, and false for `name_taken`, as version 1.0.0 has it. Only a maker can be `forbidden` it. */
  readonly addKey: boolean | 'token_taken' | 'forbidden'
  /** Whether the key was rotated; and below, whether it was revoked. */
  readonly rotateKey: boolean
  readonly revokeKey: boolean
  readonly listKeys: readonly ListedKey[]
}

/** With, after a change, the process ids of the workers that may still serve by the former keys. */
export interface KeyResponse<Command extends KeyCommand = KeyCommand> {
  readonly response: KeyResponses[Command]
  readonly late?: readonly number[]
}

/** Sends a request about API keys; rejects when no response came. */
export type SendKeyRequest = <Command extends KeyCommand>(
  request: KeyRequestOf<Command>,
) => Promise<KeyResponses[Command]>

/** Nothing came of a request about API keys, and nothing will: certainly. */
export class NothingDone extends Error {}
