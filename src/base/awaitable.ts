/** What is there at once or later. Nothing else. */

/** A value, or a promise of it: a caller that looks saves the cost of waiting for what is there already. */
export type Awaitable<T> = T | Promise<T>
