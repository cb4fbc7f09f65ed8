/**
 * Reloads in their order: one at a time, and at most one that waits. Whoever asks while one runs shares the one that waits:
 * it begins after they asked, so it reads what they have changed. Pure; what a reload does is the caller's to know.
 */

/**
 * @param first what the first reload waits for
 * @param reload one reload; never called while another runs
 * @returns asks for a reload that begins after the call; settles as that reload does
 */
export function queueReloads<Done>(first: Promise<unknown>, reload: () => Promise<Done>): () => Promise<Done> {
  let last = first.catch(() => {})
  let waiting: Promise<Done> | undefined
  return () => {
    waiting ??= last.then(() => {
      waiting = undefined
      const running = reload()
      last = running.then(
        () => {},
        () => {},
      )
      return running
    })
    return waiting
  }
}
