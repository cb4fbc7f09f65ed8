/** The bodies of requests and responses at /console/keys, as types. Request types are used as in bodies.ts. */
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
  /** By default, the caller's permissions for topics. */
  readonly allow?: readonly Right[]
  /** Subtrees that the key may access; everything by default. */
  readonly under?: readonly string[]
  /** A period or a UTC time; by default, the same as the caller's. */
  readonly expires?: string
  /**
   * Requests per second; by default, the same as the caller's.
   *
   * @type uint32
   * @minimum 1
   * @maximum 1000000
   */
  readonly rate?: number
}

interface RotateKeyBody extends NamedKey {
  readonly op: 'rotate'
  /** The period for which the former token stays valid. */
  readonly keep_former_for?: string
}

interface RevokeKeyBody extends NamedKey {
  readonly op: 'revoke'
}

export type KeysBody = ListKeysBody | CreateKeyBody | RotateKeyBody | RevokeKeyBody

/** A key in the list. Times are in ISO 8601; members without a value are left out. */
export interface ListedKeyEntry extends Pick<KeyRecord<string>, 'name' | 'allow' | 'under' | 'rate'> {
  readonly created: string | undefined
  readonly expires: string | undefined
  /** To the minute. */
  readonly used: string | undefined
  /** The expiry of the token that the last rotation replaced. */
  readonly former_until: string | undefined
  /** The part of the key that exceeds the caller's key, in words; the caller cannot change such a key. */
  readonly beyond: string | undefined
}

/** The response to a change. */
export interface ChangedKey extends Pick<Partial<ListedKeyEntry>, 'former_until'> {
  readonly name: string
  /** Shown in no other response; undefined after a revocation. */
  readonly token?: string
  /** The process ids of workers that may still use the former keys. */
  readonly late?: readonly number[] | undefined
}
