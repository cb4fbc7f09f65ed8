/** How many may listen at the same time: in this process in all, of each kind, and with one API key. */

/** With one API key, in each worker: far more than one user's pages have, and far less than what there is room for. */
export const listenersOfKeyMax = 1000

type ListenerKind = 'stream' | 'poll'

export class Seats {
  readonly #taken: Record<ListenerKind, number> = { stream: 0, poll: 0 }
  readonly #byKey = new Map<string, number>()

  /** @param max of each kind */
  constructor(private readonly max: number) {}

  taken(kind: ListenerKind): number {
    return this.#taken[kind]
  }

  hasRoom(kind: ListenerKind, keyName: string): boolean {
    return this.#taken[kind] < this.max && (this.#byKey.get(keyName) ?? 0) < listenersOfKeyMax
  }

  /** @returns a function that gives the seat back, once; undefined if there is none */
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
