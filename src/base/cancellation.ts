/** How the caller of a long operation ends it early, and how that operation says so. Nothing of a particular one. */

/**
 * Whether a long operation must stop, usually because its client has gone: an AbortSignal, or what says the same. The
 * operation checks this before each step and stops with `Cancelled`.
 */
export type Cancellation = Pick<AbortSignal, 'aborted'>

/** Aborted while any of these is. */
export function anyOf(...cancellations: readonly Cancellation[]): Cancellation {
  return {
    get aborted() {
      return cancellations.some(({ aborted }) => aborted)
    },
  }
}

/** The client has gone, so the operation was not finished. */
export class Cancelled extends Error {}
