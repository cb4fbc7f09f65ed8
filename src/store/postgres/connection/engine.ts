/**
 * Locates the engine: the hosts of an address, and the primary among them. Sessions are opened only here, and never on a standby,
 * nor on a primary that is known to have a successor, because its data are outdated.
 *
 * Of two primaries, the one with the higher timeline is the later one. If an address leads to the current primary on any host (a
 * proxy, a moving address), the timeline of a new session reveals a new primary. With several hosts, the unused ones are also
 * checked once a second, because a deposed primary may continue to run and accept sessions.
 */
import { addressesOf } from '../../../settings/address.js'
import { StoreError } from '../../errors.js'
import { explained } from './advice.js'
import { Session, type SessionLimits, Standby, stateOf } from './session.js'

/** Maximum time to open a session, in ms; a request waits at most this long for an unreachable engine. */
const connectMsMax = 3000

/** With several hosts, the maximum wait for the others after the first primary has been found, in ms. */
const othersMsMax = 500

/** Limits of sessions that check the other hosts: these execute only their opening statements. */
const checkLimits = { statementMsMax: connectMsMax, idleMsMax: connectMsMax, unreadMsMax: 0 }

/** Interval between checks of the other hosts, in ms. */
const checkMs = 1000

/** The engine has no free slot for another session. */
export class NoSlot extends StoreError {}

/** SQLSTATE for too many connections: in total, of this role or to this database. */
const noSlotStates: readonly (string | undefined)[] = ['53300']

/** The engine is reachable but refuses access: waiting does not help. */
export class Refused extends StoreError {}

/** SQLSTATEs for a refusal: the role or its password is wrong, or the database does not exist. */
const refusedStates: readonly (string | undefined)[] = ['28P01', '28000', '3D000']

export class Engine {
  readonly #addresses: readonly string[]
  readonly #onSuccessor: (() => void)[] = []
  readonly #onReached: (() => void)[] = []
  #current: string | undefined
  #timeline = 0
  #checking: NodeJS.Timeout | undefined
  #ended = false

  /** @param address one host or several */
  constructor(address: string) {
    this.#addresses = addressesOf(address)
    if (this.#addresses.length > 1) this.#checkLater()
  }

  /** The timeline of the newest primary seen so far; 0 before that, and for engines without timelines. */
  get timeline(): number {
    return this.#timeline
  }

  onSuccessor(listener: () => void): void {
    this.#onSuccessor.push(listener)
  }

  /** Calls the listener whenever a session has been opened: an engine that was down is back. */
  onReached(listener: () => void): void {
    this.#onReached.push(listener)
  }

  /** True if the session is on the newest primary seen so far. */
  isCurrent(session: Session): boolean {
    return session.timeline >= this.#timeline
  }

  /** Opens a session on the primary. @throws NoSlot; Refused; StoreError `unavailable` with each host's error */
  async open(limits: SessionLimits): Promise<Session> {
    const errors: Error[] = []
    const open = async (address: string): Promise<Session | undefined> => {
      try {
        return this.#requireCurrent(await Session.open(address, connectMsMax, limits))
      } catch (error) {
        errors.push(error as Error)
        return undefined
      }
    }
    const known = this.#current
    const others = this.#addresses.filter((address) => address !== known)
    const session = (known === undefined ? undefined : await open(known)) ?? (await this.#newest(others, open))
    if (session === undefined) throw failureOf(errors)
    for (const listener of this.#onReached) listener()
    return session
  }

  /** Stops checking the other hosts. */
  close(): void {
    this.#ended = true
    clearTimeout(this.#checking)
  }

  /** Closes the session and throws if its host is a former primary; notifies the listeners of a new one. */
  #requireCurrent(session: Session): Session {
    if (!this.isCurrent(session)) {
      session.destroy()
      throw new Error(`its timeline is ${session.timeline}, but a primary with timeline ${this.#timeline} was seen`)
    }
    if (session.timeline > this.#timeline) {
      this.#timeline = session.timeline
      for (const listener of this.#onSuccessor) listener()
    }
    return session
  }

  /** Waits for all hosts, at most `othersMsMax` after the first; returns the newest primary's session and closes the others. */
  async #newest(
    addresses: readonly string[],
    open: (address: string) => Promise<Session | undefined>,
  ): Promise<Session | undefined> {
    const found: { readonly address: string; readonly session: Session }[] = []
    let isDecided = false
    await new Promise<void>((resolve) => {
      const openings = addresses.map(async (address) => {
        const session = await open(address)
        if (isDecided) session?.destroy()
        else if (session !== undefined && found.push({ address, session }) === 1)
          setTimeout(resolve, othersMsMax).unref()
      })
      void Promise.all(openings).then(() => resolve())
    })
    isDecided = true
    const [newest, ...older] = found.sort((a, b) => b.session.timeline - a.session.timeline)
    for (const { session } of older) session.destroy()
    this.#current = newest?.address
    return newest?.session
  }

  #checkLater(): void {
    this.#checking = setTimeout(
      () => void this.#check().finally(() => this.#ended || this.#checkLater()),
      checkMs,
    ).unref()
  }

  /** Checks whether one of the unused hosts has become the primary. */
  async #check(): Promise<void> {
    const others = this.#addresses.filter((address) => address !== this.#current)
    await Promise.all(
      others.map(async (address) => {
        try {
          const session = await Session.open(address, connectMsMax, checkLimits)
          session.destroy()
          if (session.timeline > this.#timeline) {
            this.#current = address
            this.#requireCurrent(session)
          }
        } catch {
          // The other hosts are normally down or standbys.
        }
      }),
    )
  }
}

function failureOf(errors: readonly Error[]): StoreError {
  if (errors.some((error) => noSlotStates.includes(stateOf(error))))
    return new NoSlot('unavailable', 'the PostgreSQL server has no free connections')
  // A missing password is an error from pg itself, without a code.
  const refusal = errors.find((error) => refusedStates.includes(stateOf(error)) || error.message.startsWith('SASL: '))
  if (refusal !== undefined)
    return new Refused('unavailable', `the PostgreSQL server denies access: ${explained(refusal)}`, {
      cause: refusal,
    })
  const onlyStandbys = errors.every((error): boolean => error instanceof Standby)
  const reason = onlyStandbys ? 'there is no primary, only a standby' : [...new Set(errors.map(explained))].join('; ')
  return new StoreError('unavailable', `the PostgreSQL server cannot be reached: ${reason}`, { cause: errors[0] })
}
