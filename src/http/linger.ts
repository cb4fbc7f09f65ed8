/**
 * The end of a connection whose client may still be sending: a socket that is closed over bytes that nobody has read is
 * reset, and a client that sends everything before it reads loses its answer. So the rest of the body is dropped first, for
 * a bounded time. Nothing here reads or sends; the pieces are requests.ts's, the answer is unread.ts's.
 */
import { lingerMsMax, lingerSilenceMsMax } from '../limits.js'

/** A request whose body may still be coming. */
export interface Incoming {
  /** Whether all of the body has come. */
  bodyEnded: boolean
  /** Is called after each piece that comes once the request has been answered. */
  onDropped: (() => void) | undefined
}

/**
 * Calls `close` once when nothing of the body is waited for any more: it has ended, nothing of it has come for
 * `lingerSilenceMsMax`, or it is still coming after `lingerMsMax`. Never within this call, but within `onDropped`, so that
 * nothing behind the body is looked at.
 */
export function closeAfterBody(incoming: Incoming, close: () => void): void {
  if (incoming.bodyEnded) return void setImmediate(close)
  const startMs = performance.now()
  const silence = setTimeout(close, lingerSilenceMsMax)
  incoming.onDropped = () => {
    if (!incoming.bodyEnded && performance.now() - startMs < lingerMsMax) return void silence.refresh()
    clearTimeout(silence)
    close()
  }
}
