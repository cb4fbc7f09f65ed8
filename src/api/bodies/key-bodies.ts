/** The bodies of POST /console/keys, as types. bodies.ts says what is made of them. */
import type { Right } from '../../keys/record.js'

export interface CreateKeyBody {
  readonly op: 'create'
  readonly name: string
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

export interface RotateKeyBody {
  readonly op: 'rotate'
  readonly name: string
  /** How long the former token stays valid: a period. */
  readonly keep_former_for?: string
}

export interface RevokeKeyBody {
  readonly op: 'revoke'
  readonly name: string
}
