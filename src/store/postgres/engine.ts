/**
 * Where the engine is: the hosts of an address, and which of them is the primary. Sessions are opened here and nowhere else,
 * and none on a standby, nor on a primary that is known to have a successor: it would read what is no longer so.
 *
 * Whose timeline is higher is the later primary. A host whose address leads to whatever is the primary now (a proxy, a
 * moving address) shows a new one by a new session's timeline; with several hosts the others are asked once a second too,
 * since one that was deposed and lives on does not know it.
 */
import { addressesOf } from '../address.js'
import { StoreError } from '../store.js'
import { Session, Standby, stateOf } from './session.js'

/** How long a session may take to be made, in ms; a request waits at most this long for an engine that is gone. */
export const connectMsMax = 3000

/** With several hosts, how long the others may take to answer once one is found that is a primary, in ms. */
const othersMsMax = 500

/** Between two looks at the other hosts, in ms. */
const lookMs = 1000

/** The engine has no slot left for one more session. */
export class NoSlot extends StoreError {}

/** SQLSTATEs of that: too many connections, of all or of this role or database. */
const noSlotStates: readonly (string | undefined)[] = ['53300']

/** The engine is there and does not let us in: nothing that waiting would cure. */
export class Refused extends StoreError {}

/** SQLSTATEs of that: the role or its password is wrong, there is no such database. */
const refusedStates: readonly (string | undefined)[] = ['28P01', '28000', '3D000']

/** pg has no code for a password that it was to give and was not given. */
function isRefusal(error: Error): boolean {
  return refusedStates.includes(stateOf(error)) || error.message.startsWith('SASL: ')
}

export class Engine {
  readonly #addresses: readonly string[]
  readonly #onSuccessor: (() => void)[] = []
  readonly #onReached: (() => void)[] = []
  #current: string | undefined
  #timeline = 0
  #looking: NodeJS.Timeout | undefined
  #ended = false

  /** @param address of one host or several */
  constructor(address: string) {
    this.#addresses = addressesOf(address)
    if (this.#addresses.length > 1) this.#lookLater()
  }

  /** Of the newest primary that was seen; 0 before any was, and for engines that have none. */
  get timeline(): number {
    return this.#timeline
  }

  /** Told when a primary was seen that follows the one which was known. */
  onSuccessor(listener: () => void): void {
    this.#onSuccessor.push(listener)
  }

  /** Told whenever a session was made: who waits for an engine that was away need not wait longer. */
  onReached(listener: () => void): void {
    this.#onReached.push(listener)
  }

  /** Whether a session is on the newest primary that was seen. */
  isCurrent(session: Session): boolean {
    return session.timeline >= this.#timeline
  }

  /**
   * Opens a session on the primary.
   *
   * @param statementMsMax after which the engine ends a statement of the session by itself
   * @throws NoSlot; Refused; StoreError `unavailable` with what each host said
   */
  async open(statementMsMax: number): Promise<Session> {
    const failures = new Map<string, Error>()
    const open = async (address: string): Promise<Session | undefined> => {
      try {
        return this.#judge(await Session.open(address, connectMsMax, statementMsMax))
      } catch (error) {
        failures.set(address, error as Error)
        return undefined
      }
    }
    const known = this.#current
    const session = known === undefined ? undefined : await open(known)
    const found =
      session ??
      (await this.#newest(
        this.#addresses.filter((address) => address !== known).map((address) => ({ address, opening: open(address) })),
      ))
    if (found === undefined) throw this.#failure(failures)
    for (const listener of this.#onReached) listener()
    return found
  }

  /** Ends the looks. */
  close(): void {
    this.#ended = true
    clearTimeout(this.#looking)
  }

  /** @throws Error when the session's host is a primary of the past */
  #judge(session: Session): Session {
    if (!this.isCurrent(session)) {
      session.destroy()
      throw new Error(`its timeline is ${session.timeline}, and there has been a primary with ${this.#timeline}`)
    }
    if (session.timeline > this.#timeline) {
      this.#timeline = session.timeline
      for (const listener of this.#onSuccessor) listener()
    }
    return session
  }

  /** The session of the newest primary; the others are ended. */
  async #newest(
    openings: readonly { address: string; opening: Promise<Session | undefined> }[],
  ): Promise<Session | undefined> {
    const found: { address: string; session: Session }[] = []
    let decided = false
    const all = openings.map(async ({ address, opening }) => {
      const session = await opening
      if (session === undefined) return
      if (decided) session.destroy()
      else found.push({ address, session })
    })
    const first = Promise.race(
      all.map(async (one) => {
        await one
        if (found.length === 0) await new Promise(() => {})
      }),
    )
    await Promise.race([Promise.all(all), first.then(() => new Promise((resolve) => setTimeout(resolve, othersMsMax)))])
    decided = true
    const newest = found.sort((a, b) => b.session.timeline - a.session.timeline)[0]
    for (const { session } of found) if (session !== newest.session) session.destroy()
    this.#current = newest?.address
    return newest?.session
  }

  #failure(failures: ReadonlyMap<string, Error>): StoreError {
    const errors = [...failures.values()]
    if (errors.some((error) => noSlotStates.includes(stateOf(error))))
      return new NoSlot('unavailable', 'the engine has no connection left')
    const [refusal] = errors.filter(isRefusal)
    if (refusal !== undefined)
      return new Refused('unavailable', `the engine refuses us: ${refusal.message}`, { cause: refusal })
    const isStandby = (error: Error): boolean => error instanceof Standby
    const onlyStandbys = errors.every(isStandby)
    const reason = onlyStandbys
      ? 'there is no primary, only a standby'
      : [...new Set(errors.map(({ message }) => message))].join('; ')
    return new StoreError('unavailable', `the engine cannot be reached: ${reason}`, { cause: errors[0] })
  }

  #lookLater(): void {
    this.#looking = setTimeout(() => void this.#look().finally(() => this.#ended || this.#lookLater()), lookMs).unref()
  }

  /** Asks the hosts that are not in use whether one of them has become the primary. */
  async #look(): Promise<void> {
    const others = this.#addresses.filter((address) => address !== this.#current)
    await Promise.all(
      others.map(async (address) => {
        try {
          const session = await Session.open(address, connectMsMax, connectMsMax)
          session.destroy()
          if (session.timeline > this.#timeline) {
            this.#current = address
            this.#judge(session)
          }
        } catch {
          // A host that is away or a standby is as it should be.
        }
      }),
    )
  }
}
