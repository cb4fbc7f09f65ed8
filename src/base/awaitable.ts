/** Values that are there now or later. Nothing else. */

/** A value, or a promise of it: a caller that looks saves the cost of waiting for what is there already. */
export type Awaitable<T> = T | Promise<T>

export function whenKnown<T, R>(value: Awaitable<T>, next: (known: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
