/**
 * For how long nothing has been heard from a child. A primary that was itself suspended or starved has not read what its
 * children sent, so the silence counts from its return.
 */
import type { Child } from './child.js'

/** Between two checks for silent children. */
const checkMs = 250

/** A check this late means that this process was suspended or starved. */
const lateCheckMs = 1000

/**
 * Checks again and again, for as long as this process lives.
 *
 * @param watched the children that should send heartbeats now
 * @param onSilent called at each check with a child that has been silent for `silentMsMax` or longer, and for how long
 */
export function watchSilence(
  watched: () => readonly Child[],
  silentMsMax: number,
  onSilent: (child: Child, silentMs: number) => void,
): void {
  let checkedAtMs = performance.now()
  let attentiveSinceMs = checkedAtMs
  const check = (): void => {
    const nowMs = performance.now()
    if (nowMs - checkedAtMs > lateCheckMs) attentiveSinceMs = nowMs
    checkedAtMs = nowMs
    for (const child of watched()) {
      const silentMs = nowMs - Math.max(child.heardMs, attentiveSinceMs)
      if (silentMs >= silentMsMax) onSilent(child, Math.round(silentMs))
    }
  }
  setInterval(check, checkMs).unref()
}
