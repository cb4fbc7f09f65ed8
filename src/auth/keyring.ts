/**
 * A worker's copy of the API keys: it finds the caller by the value of the `authorization` header, and records which
 * keys are used. `reload` reads the keys again after a change. If hosts share a store, no message announces another
 * host's change; the keyring then also polls the keys' revision four times a second. A revoked key is thus
 * rejected within a second everywhere. The keyring checks the clock just as often, without the store, so that an expired key
 * is rejected just as soon. A cached caller is found without looking at the clock.
 *
 * A key that is being revoked is suspended: it is rejected before its revocation is stored, and accepted again if the revocation fails.
 *
 * Failures here are faults of the machine: they are reported to `onFailure`, and the last known keys stay valid.
 */
import { within } from '../base/within.js'
import type { KeyRecord } from '../keys/record.js'
import type { KeyReader, KeyUses } from '../store/api-keys.js'
import { StoreError } from '../store/errors.js'
import type { Availability } from '../store/store.js'
import { type Access, accessOf } from './access.js'
import { tokenOf } from './authorization.js'
import { KeyCounts } from './key-counts.js'
import { KeyTokens } from './key-tokens.js'
import { RateLimit } from './rate-limit.js'
import { hashToken } from './token.js'

/** The interval between polls of the revision and checks of the clock: a quarter of the second within which keys must be rejected. */
const pollMs = 250

/** Failed reads before a report, a second's worth: a failover may break reads before the engine is known to be unavailable. */
const failuresPassed = 1000 / pollMs

/** The interval between writes of the keys' last uses, and therefore the precision of the times in `keys list`. */
const touchMs = 60_000

/** The maximum time by which the last write of uses delays a stop. */
const lastTouchMsMax = 1000

/** Maximum cached header values of known keys; each spelling counts separately. Beyond that, the cache is cleared. */
const callersMax = 10_000

/** A longer header value is not cached: it has superfluous spaces, because a token has at most 1,024 characters. */
const callerCharactersMax = 1100

type KeyStore = KeyReader & Pick<KeyUses, 'touchKeys'> & Availability

interface KeyRateLimit {
  /** For all workers together. */
  readonly rate: number
  readonly limit: RateLimit
}

export class Keyring {
  readonly #counts = new KeyCounts()
  /** Callers by the header values that identified them, so that a token is hashed once. */
  readonly #callers = new Map<string, Access>()
  /** The first use of each key since the last write of uses, as Unix time in ms, by name. */
  readonly #used = new Map<string, number>()
  #tokens = new KeyTokens([])
  /** The revision of the keys in `#tokens`; undefined until they have been read. */
  #revision: number | undefined
  /** The number of tokens that had expired when the callers were last cleared. */
  #expired = 0
  /** The keys that have been used, by name; cleared when the keys change. Both tokens of a rotated key are one caller. */
  #accesses = new Map<string, Access>()
  /** The limiters of keys with a rate. They survive changes to other keys; a new limiter would grant a fresh burst. */
  #rateLimits: ReadonlyMap<string, KeyRateLimit> = new Map()
  /** The names of suspended keys by revocation number. */
  readonly #suspended = new Map<number, string>()
  /** The names of keys with unreadable records; each has been reported. */
  readonly #unreadable = new Set<string>()
  #clockTimer: NodeJS.Timeout | undefined
  /** The last read of the keys; never rejects. */
  #reading: Promise<void> = Promise.resolve()
  #isClosed = false
  /** True if a failure has been reported and nothing has been read or written successfully since. */
  #isFailing = false
  #touching: Promise<void> | undefined
  #onChange = (): void => {}
  #touchedMs = Date.now()

  private constructor(
    private readonly store: KeyStore,
    private readonly onFailure: (error: unknown) => void,
    private readonly sharers: number,
  ) {}

  /**
   * Reads the keys. If that fails with a StoreError, later polls repeat it until it succeeds.
   *
   * @param onFailure called when the store cannot be read or written, but not again until an access succeeds; also for unreadable keys
   * @param sharers processes that share the rate of a key, including this one
   * @param polls whether to poll the store: set if keys can change without a call to `reload`
   * @throws any error from the store except a StoreError: a remote store may be unavailable for a while
   */
  static async open(store: KeyStore, onFailure: (error: unknown) => void, sharers = 1, polls = true): Promise<Keyring> {
    const keyring = new Keyring(store, onFailure, sharers)
    await keyring.#refresh().catch(ignoreStoreError)
    if (polls) void keyring.#poll()
    keyring.#clockTimer = setInterval(keyring.#onClock, pollMs)
    return keyring
  }

  /**
   * Reads the keys if they have changed. Resolves once later requests will all be checked against the keys as of this call
   * or later. A failure is reported, unless it may pass soon; the read is repeated until it succeeds or the keyring is closed.
   */
  async reload(): Promise<void> {
    for (let failures = 1; !this.#isClosed; failures++) {
      try {
        await this.#refresh()
        this.#isFailing = false
        return
      } catch (error) {
        if (this.#isClosed) return
        const mayPass = error instanceof StoreError && failures <= failuresPassed
        if (!mayPass && this.store.notReady?.() === undefined) this.#report(error)
      }
      await nextPoll()
    }
  }

  /** Rejects a key until all of its pending revocations are over. */
  suspend(revocation: number, name: string): void {
    this.#suspended.set(revocation, name)
    this.#forgetCallers()
  }

  /** Accepts a key again after its last pending revocation, if the last read still found the key. */
  resume(revocation: number): void {
    this.#suspended.delete(revocation)
    this.#forgetCallers()
  }

  /** The caller by the value of the `authorization` header; undefined if the key is unknown, suspended or expired. */
  find(authorization: string): Access | undefined {
    let access = this.#callers.get(authorization)
    if (access === undefined) {
      const token = tokenOf(authorization)
      access = token === undefined ? undefined : this.#accessBy(token)
      if (access === undefined) return undefined
      if (this.#callers.size >= callersMax) this.#callers.clear()
      if (authorization.length <= callerCharactersMax) this.#callers.set(authorization, access)
    }
    if (!this.#used.has(access.name)) this.#used.set(access.name, Date.now())
    return access
  }

  /** Calls the listener whenever the permissions of a caller may have changed. */
  watch(onChange: () => void): void {
    this.#onChange = onChange
  }

  /** True for a known token that has expired. */
  hasExpired(authorization: string): boolean {
    const token = tokenOf(authorization)
    const { expiresMs = Infinity } = (token && this.#tokens.get(hashToken(token))) || {}
    return expiresMs <= Date.now()
  }

  /** The number of answered requests by key label, since the start of this process. */
  requests(): ReturnType<KeyCounts['read']> {
    return this.#counts.read()
  }

  /** The number of keys whose records could not be read; each key counts once per process. */
  get unreadable(): number {
    return this.#unreadable.size
  }

  /** False until the keys have been read: the store may be unavailable when the service starts. */
  isKnown(): boolean {
    return this.#revision !== undefined
  }

  /** Stops all reads, then writes the last uses within a bounded time. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#clockTimer)
    await within(lastTouchMsMax, this.#touchLast())
  }

  /** Reads the keys if they have changed. Waits for the read in progress, so that an earlier read cannot finish last. */
  #refresh(): Promise<void> {
    const read = this.#reading.then(() => this.#read())
    this.#reading = read.catch(() => {})
    return read
  }

  async #read(): Promise<void> {
    const revision = await this.store.keysRevision()
    if (revision === this.#revision) return
    const records = await this.store.readKeys(this.#onUnreadable)
    this.#tokens = new KeyTokens(records)
    this.#expired = this.#tokens.expired(Date.now())
    this.#rateLimits = this.#rateLimitsOf(records)
    this.#accesses.clear()
    this.#revision = revision
    this.#forgetCallers()
  }

  /** Clears the cache, so that every caller is looked up again. */
  #forgetCallers(): void {
    this.#callers.clear()
    this.#onChange()
  }

  readonly #onClock = (): void => {
    // If a token has expired or the clock was set back, look up every caller again.
    const expired = this.#tokens.expired(Date.now())
    if (expired !== this.#expired) this.#forgetCallers()
    this.#expired = expired
    this.#startTouch()
  }

  /** The caller with this token; undefined if it is unknown, is suspended or has expired. */
  #accessBy(token: string): Access | undefined {
    const { record, expiresMs = 0 } = this.#tokens.get(hashToken(token)) ?? {}
    if (record === undefined || expiresMs <= Date.now() || this.#isSuspended(record.name)) return undefined
    let access = this.#accesses.get(record.name)
    if (access === undefined) {
      access = accessOf(record, this.#rateLimits.get(record.name)?.limit, this.#counts.of(record.name))
      this.#accesses.set(record.name, access)
    }
    return access
  }

  #isSuspended(name: string): boolean {
    for (const suspended of this.#suspended.values()) if (suspended === name) return true
    return false
  }

  #rateLimitsOf(records: readonly KeyRecord[]): ReadonlyMap<string, KeyRateLimit> {
    const limits = new Map<string, KeyRateLimit>()
    for (const { name, rate } of records) {
      if (rate === undefined) continue
      const known = this.#rateLimits.get(name)
      limits.set(name, known?.rate === rate ? known : { rate, limit: new RateLimit(rate, this.sharers) })
    }
    return limits
  }

  async #poll(): Promise<void> {
    while (!this.#isClosed) {
      await nextPoll()
      await this.reload()
    }
  }

  /** Reports each key once. The other keys are still read: a revocation must not depend on an unreadable record. */
  readonly #onUnreadable = (name: string, problem: string): void => {
    if (this.#unreadable.has(name)) return
    this.#unreadable.add(name)
    this.onFailure(
      new Error(`API key "${name}" is rejected: ${problem}; to remove the key, run "topicd keys revoke ${name}"`),
    )
  }

  readonly #report = (error: unknown): void => {
    if (!this.#isFailing) this.onFailure(error)
    this.#isFailing = true
  }

  /** Starts to write the last uses if a write is due; only one such write runs at a time. */
  #startTouch(): void {
    if (this.#touching !== undefined || Date.now() - this.#touchedMs < touchMs) return
    this.#touchedMs = Date.now()
    this.#touching = this.#touch()
      .then(
        () => {
          this.#isFailing = false
        },
        // The primary reports a failover.
        (error) => {
          if (!(error instanceof StoreError)) this.#report(error)
        },
      )
      .finally(() => (this.#touching = undefined))
  }

  async #touch(): Promise<void> {
    if (this.#used.size === 0) return
    const uses = new Map(this.#used)
    this.#used.clear()
    await this.store.touchKeys(uses)
  }

  /** A failing store is reported elsewhere; at most a minute of last uses is lost. */
  async #touchLast(): Promise<void> {
    await this.#touching
    await this.#touch().catch(ignoreStoreError)
  }
}

function nextPoll(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollMs))
}

function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}
