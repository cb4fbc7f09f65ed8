/** How the caller of a long operation ends it early, and how that operation says so. Nothing of a particular one. */

/** Tells a long operation to stop. The operation checks this before each step and stops with `Cancelled`. */
export type Cancellation = Pick<AbortSignal, 'aborted'>

export function anyOf(...cancellations: readonly Cancellation[]): Cancellation {
  return {
    get aborted() {
      return cancellations.some(({ aborted }) => aborted)
    },
  }
}

/** The client disconnected before the operation was finished. */
export class Cancelled extends Error {}
