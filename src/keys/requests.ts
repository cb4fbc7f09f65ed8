/**
 * Requests about API keys and their responses, as processes send them: types, and the failure of which it is certain that
 * nothing was changed.
 */
import type { Path } from '../topics/path.js'
import type { Maker } from './makers.js'
import type { KeyRecord, KeyRotation, ListedKey } from './record.js'

/** As it arrives, a subtree of a key may be any string. */
export type KeyRequest<Subtree extends string = Path> =
  | { readonly command: 'addKey'; readonly record: KeyRecord<Subtree> }
  | { readonly command: 'rotateKey'; readonly rotation: KeyRotation }
  | { readonly command: 'revokeKey'; readonly name: string }
  | { readonly command: 'listKeys' }

export type KeyCommand = KeyRequest['command']

/** The request with this command. */
export type KeyRequestOf<Command extends KeyCommand> = KeyRequest & { readonly command: Command }

/** The response to each request. */
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

/** Sends one for a maker. Rejects with NothingDone, or with another Error if the keys may have been changed. */
export type SendForMaker = <Command extends KeyCommand>(
  request: KeyRequestOf<Command>,
  by: Maker,
) => Promise<KeyResponse<Command>>

/** Nothing came of a request about API keys, and nothing will: certainly. */
export class NothingDone extends Error {}
