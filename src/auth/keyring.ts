/**
 * A worker's copy of the API keys: it finds the caller by the value of the `authorization` header, and records which
 * keys are used. It polls the store's revision of the keys four times a second, so that a revoked key is refused within
 * a second by every worker on every host, wherever it was revoked.
 *
 * Failures here are the machine's: they are reported to `onFailure`, and the last known keys stay valid.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type KeyRecord, StoreError, type TopicStore } from '../store/store.js'
import { type Access, accessOf } from './access.js'
import { tokenOf } from './authorization.js'
import { hashToken } from './token.js'

/** The interval between polls of the revision: a quarter of the second that a revocation may take. */
const pollMs = 250

/** The interval between writes of when keys were last used, and so the precision of the times in `keys list`. */
const touchMs = 60_000

/** How long the last such write may delay a stop. */
const lastTouchMsMax = 1000

/** Header values of known keys that are cached, in every spelling; beyond that, the cache is cleared. */
const callersMax = 10_000

export class Keyring {
  readonly #store: TopicStore
  readonly #onFailure: (error: unknown) => void
  /** Callers by the header values that identified them, so that a token is hashed once. */
  readonly #callers = new Map<string, Access>()
  /**
   * The last of them that was found, until the callers or their uses are cleared. A fresh string has no hash yet, so
   * comparing it costs less than looking it up: 1.5 % of a fetch by path (`npm run bench -- fetch-path --driver wrk`).
   * That a comparison ends at the first difference tells a client nothing that it could measure over a network.
   */
  #last: { readonly line: string; readonly caller: Access } | undefined
  /** When each key was first used since the last write of it, in ms since the epoch, by name. */
  readonly #used = new Map<string, number>()
  #byHash: ReadonlyMap<string, Access> = new Map()
  /** The revision of the keys in `#byHash`; undefined until they have been read. */
  #revision: number | undefined
  /** Undefined once closed. */
  #timer: NodeJS.Timeout | undefined
  /** Whether the last failure has been reported, and nothing has been read since. */
  #isFailing = false
  #touching: Promise<void> | undefined
  #touchedMs = Date.now()

  private constructor(store: TopicStore, onFailure: (error: unknown) => void) {
    this.#store = store
    this.#onFailure = onFailure
  }

  /**
   * Reads the keys, and keeps polling them.
   *
   * @param onFailure called when the store cannot be read or written, and then not again before it has been read
   * @throws any error of the store except a StoreError: a remote store may be unavailable for a while
   */
  static async open(store: TopicStore, onFailure: (error: unknown) => void): Promise<Keyring> {
    const keyring = new Keyring(store, onFailure)
    await keyring.#refresh().catch(ignoreStoreError)
    keyring.#timer = setTimeout(keyring.#poll, pollMs)
    return keyring
  }

  /** The caller, by the value of the `authorization` header; undefined for an unknown one. */
  find(authorization: string): Access | undefined {
    if (this.#last?.line === authorization) return this.#last.caller
    let access = this.#callers.get(authorization)
    if (access === undefined) {
      const token = tokenOf(authorization)
      access = token === undefined ? undefined : this.#byHash.get(hashToken(token))
      if (access === undefined) return undefined
      if (this.#callers.size >= callersMax) this.#callers.clear()
      this.#callers.set(authorization, access)
    }
    if (!this.#used.has(access.name)) this.#used.set(access.name, Date.now())
    this.#last = { line: authorization, caller: access }
    return access
  }

  /** Whether the keys have ever been read: the store may be unavailable when the service starts. */
  isKnown(): boolean {
    return this.#revision !== undefined
  }

  /** Stops polling, and writes the last uses, within a bounded time. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await Promise.race([this.#touchLast(), sleep(lastTouchMsMax)])
  }

  async #refresh(): Promise<void> {
    const revision = await this.#store.keysRevision()
    if (revision === this.#revision) return
    const records = await this.#store.readKeys()
    this.#byHash = new Map(records.map((record: KeyRecord) => [record.tokenHash, accessOf(record)]))
    this.#callers.clear()
    this.#last = undefined
    this.#revision = revision
  }

  readonly #poll = async (): Promise<void> => {
    try {
      await this.#refresh()
      this.#isFailing = false
    } catch (error) {
      if (this.#store.notReady?.() === undefined) this.#report(error)
    }
    this.#startTouch()
    if (this.#timer !== undefined) this.#timer = setTimeout(this.#poll, pollMs)
  }

  readonly #report = (error: unknown): void => {
    if (!this.#isFailing) this.#onFailure(error)
    this.#isFailing = true
  }

  /**
   * Starts to write the uses, one such write at a time. It is not awaited: a slow disk must not delay the next poll.
   */
  #startTouch(): void {
    if (this.#touching !== undefined || Date.now() - this.#touchedMs < touchMs) return
    this.#touchedMs = Date.now()
    this.#touching = this.#touch()
      .catch(this.#report)
      .finally(() => (this.#touching = undefined))
  }

  async #touch(): Promise<void> {
    if (this.#used.size === 0) return
    const uses = new Map(this.#used)
    this.#used.clear()
    this.#last = undefined
    await this.#store.touchKeys(uses)
  }

  /** A store that fails now is reported elsewhere; it loses at most a minute of last uses. */
  async #touchLast(): Promise<void> {
    await this.#touching
    await this.#touch().catch(ignoreStoreError)
  }
}

function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}
