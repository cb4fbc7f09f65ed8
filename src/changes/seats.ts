/** Limits on simultaneous listeners: in total for each kind in this process, and per API key. */

/** Per API key and worker: far more than one user's pages need, and far less than the total. */
export const listenersOfKeyMax = 1000

type ListenerKind = 'stream' | 'poll'

export class Seats {
  readonly #taken: Record<ListenerKind, number> = { stream: 0, poll: 0 }
  readonly #byKey = new Map<string, number>()

  /** @param max per kind */
  constructor(private readonly max: number) {}

  taken(kind: ListenerKind): number {
    return this.#taken[kind]
  }

  hasRoom(kind: ListenerKind, keyName: string): boolean {
    return this.#taken[kind] < this.max && (this.#byKey.get(keyName) ?? 0) < listenersOfKeyMax
  }

  /** @returns a function that gives the seat back, at most once; undefined if no seat is free */
  take(kind: ListenerKind, keyName: string): (() => void) | undefined {
    if (!this.hasRoom(kind, keyName)) return undefined
    this.#taken[kind]++
    this.#byKey.set(keyName, (this.#byKey.get(keyName) ?? 0) + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#taken[kind]--
      const left = (this.#byKey.get(keyName) ?? 1) - 1
      if (left === 0) this.#byKey.delete(keyName)
      else this.#byKey.set(keyName, left)
    }
  }
}
