/**
 * The connection between a running tool and its caller: input, output with back-pressure, and the signal that stops the
 * work. The work is stopped by `stop`, or if the connection closes or the output is not read. tool-process.ts runs the
 * work and decides when the process exits.
 *
 *     readyLine → the tool's own lines → endLine, or an error line → the caller closes
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { Cancelled } from '../../base/cancellation.js'
import { within } from '../../base/within.js'
import { toolUnreadMsMax } from '../../settings/limits.js'
import { endLine, errorLine, readyLine } from '../control/protocol.js'

export class ToolConnection {
  readonly #stopping = new AbortController()
  readonly input = new PassThrough()
  /** One wait for all callers of `emit`. */
  #draining: Promise<void> | undefined

  constructor(private readonly socket: Socket) {
    // The end of the input is not the end of the output.
    socket.allowHalfOpen = true
    for (const event of ['error', 'close']) socket.on(event, () => this.stop('the caller has disconnected'))
    this.input.on('error', () => {})
    this.signal.addEventListener('abort', () => this.input.destroy(this.signal.reason as Error))
    socket.pipe(this.input)
    socket.write(`${readyLine}\n`)
  }

  /** Aborts with the reason when the work must stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Stops the work; only the first reason counts. */
  stop(reason: string): void {
    this.#stopping.abort(new Error(reason))
  }

  /** Resolves when there is room for more. @throws Cancelled if the work must stop or its output is not read */
  readonly emit = async (lines: string | Uint8Array): Promise<void> => {
    if (this.signal.aborted) throw new Cancelled()
    this.socket.cork()
    this.socket.write(lines)
    const hasRoom = this.socket.write('\n')
    this.socket.uncork()
    if (hasRoom) return
    this.#draining ??= this.#drained().finally(() => (this.#draining = undefined))
    await this.#draining
  }

  async #drained(): Promise<void> {
    const reason = `its output was not read for ${toolUnreadMsMax / 1000} s`
    const timer = setTimeout(() => this.stop(reason), toolUnreadMsMax)
    try {
      await once(this.socket, 'drain', { signal: this.signal })
    } catch {
      throw new Cancelled()
    } finally {
      clearTimeout(timer)
    }
  }

  /** @param failure undefined if the work is complete */
  lastLine(failure: Error | undefined): string {
    if (failure === undefined) return endLine
    return errorLine(failure instanceof Cancelled ? (this.signal.reason as Error) : failure)
  }

  /** Sends the last line and waits a limited time for the caller to close the connection: at most `stopMsMax` after stopped work. */
  async close(lastLine: string, stopMsMax: number): Promise<void> {
    this.socket.end(`${lastLine}\n`)
    // Further input has no reader; if it stayed unread, the connection could not close. While the socket is piped, it is read only
    // as fast as its former reader reads, so unpipe it.
    this.socket.unpipe(this.input)
    this.socket.resume()
    if (this.socket.closed) return
    await within(
      this.signal.aborted ? stopMsMax : toolUnreadMsMax,
      once(this.socket, 'close').catch(() => {}),
    )
  }
}
