/**
 * The end of a connection whose client may still be sending. A socket that is closed with unread bytes is reset, and a
 * client that sends everything before it reads loses its answer. So the rest of the body is dropped first, for a
 * bounded time. Nothing here reads or sends: requests.ts receives the pieces, response.ts sends the answer.
 */
import { lingerMsMax, lingerSilenceMsMax } from '../settings/limits.js'

/** A request whose body may still be arriving. */
export interface Incoming {
  /** Whether all of the body has arrived. */
  bodyEnded: boolean
  /** Called after each piece that arrives once the request has been answered. */
  onDropped: (() => void) | undefined
}

/**
 * Calls `close` once the body is no longer waited for: it has ended, no piece has arrived for `lingerSilenceMsMax`, or
 * it is still arriving after `lingerMsMax`. `close` is never called before this function returns, and only from a timer
 * or, where a piece ends the wait, within `onDropped`, so that nothing after the body is parsed.
 */
export function closeAfterBody(incoming: Incoming, close: () => void): void {
  if (incoming.bodyEnded) return void setTimeout(close, 0)
  const startMs = performance.now()
  const silence = setTimeout(close, lingerSilenceMsMax)
  incoming.onDropped = () => {
    if (!incoming.bodyEnded && performance.now() - startMs < lingerMsMax) return void silence.refresh()
    clearTimeout(silence)
    close()
  }
}
