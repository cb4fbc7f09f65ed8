/** The longest time for which a service that could have answered answered nobody. */
export class Silence {
  maxMs = 0
  #sinceMs: number | undefined

  /** From now on there is somebody who answers; nothing new if there was. */
  begin(): void {
    this.#sinceMs ??= performance.now()
  }

  answered(): void {
    if (this.#sinceMs === undefined) return
    this.#measure(this.#sinceMs)
    this.#sinceMs = performance.now()
  }

  /** From now on there is nobody. */
  end(): void {
    if (this.#sinceMs !== undefined) this.#measure(this.#sinceMs)
    this.#sinceMs = undefined
  }

  #measure(sinceMs: number): void {
    this.maxMs = Math.max(this.maxMs, performance.now() - sinceMs)
  }
}
