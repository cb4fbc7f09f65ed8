/** The bodies of requests and answers at /console/keys, as types. bodies.ts says what is made of the former. */
import type { KeyRecord, Right } from '../../keys/record.js'

interface ListKeysBody {
  readonly op: 'list'
}

interface NamedKey {
  /** @pattern ^[A-Za-z0-9_.@-]{1,64}$ */
  readonly name: string
}

export interface CreateKeyBody extends NamedKey {
  readonly op: 'create'
  /** By default what the caller may do to topics. */
  readonly allow?: readonly Right[]
  /** Subtrees that the key may touch; everything by default. */
  readonly under?: readonly string[]
  /** A period, or a UTC time; that of the caller by default. */
  readonly expires?: string
  /**
   * Requests per second; that of the caller by default.
   *
   * @type uint32
   * @minimum 1
   * @maximum 1000000
   */
  readonly rate?: number
}

interface RotateKeyBody extends NamedKey {
  readonly op: 'rotate'
  /** How long the former token stays valid: a period. */
  readonly keep_former_for?: string
}

interface RevokeKeyBody extends NamedKey {
  readonly op: 'revoke'
}

export type KeysBody = ListKeysBody | CreateKeyBody | RotateKeyBody | RevokeKeyBody

/** A key in the list. Times are in ISO 8601; members are left out where the key has no such thing. */
export interface ListedKeyEntry extends Pick<KeyRecord<string>, 'name' | 'allow' | 'under' | 'rate'> {
  readonly created: string | undefined
  readonly expires: string | undefined
  /** To the minute. */
  readonly used: string | undefined
  /** Until when the token before the last rotation is valid. */
  readonly former_until: string | undefined
  /** What the key has beyond the caller's, in words, so that the caller may not change it. */
  readonly beyond: string | undefined
}

/** After a change. */
export interface ChangedKey extends Pick<Partial<ListedKeyEntry>, 'former_until'> {
  readonly name: string
  /** In no other answer; undefined after a revocation. */
  readonly token?: string
  /** The process ids of workers that may not use the change yet. */
  readonly late?: readonly number[] | undefined
}
