/** A caller cancels a long operation with a `Cancellation`; the operation then throws `Cancelled`. */

/** Tells a long operation to stop. The operation checks this before each step and stops with `Cancelled`. */
export type Cancellation = Pick<AbortSignal, 'aborted'>

export function anyOf(...cancellations: readonly Cancellation[]): Cancellation {
  return {
    get aborted() {
      return cancellations.some(({ aborted }) => aborted)
    },
  }
}

/** The operation was cancelled, for example because the client disconnected. */
export class Cancelled extends Error {}
