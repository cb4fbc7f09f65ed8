/**
 * Responses whose bodies have no known end: chunked, sent piece by piece until one side ends them. Other responses are in
 * response.ts. The `Stream` decides which pieces are sent, and when.
 *
 * - The library sends the final line end of a chunk only with the next chunk, and some clients deliver no chunk without it.
 *   So each piece is followed by the stream's filler, a chunk that may arrive late.
 * - The library buffers without limit the bytes that a client does not take, and only the next write reports whether any are
 *   left. So after the first `false`, nothing may be sent until the client has taken them. At the end, a filler tests whether it has.
 * - There is no way to tell whether a client has taken the end itself, about 100 bytes, and closing discards the library's buffer.
 *   So before this file closes a connection, it waits for `endKeptMs`.
 * - If `onWritable` has a listener, the library does not send its buffer on its own: the listener must write something.
 * - If the library closes with the end of a chunked body, it writes a header into the body. So if the connection closes
 *   with the body, the last chunk is written as the name of a trailer, and this file closes the connection. For the library
 *   the response is then never complete, so another request closes the connection (closing.ts).
 * - If a client takes nothing for 10 s, the library closes the connection.
 */
import type { Answer, Outlet, Stream } from './answer.js'
import type { Closing, Receiver } from './closing.js'
import { writeHead } from './head.js'

/** The end of a chunk, the last chunk, and the name of a trailer: the library appends a value and two line ends. */
const lastChunk = '\r\n0\r\nconnection-state'

/** The time for the library to send the end of a body: a client that is reading makes room sooner; most clients close sooner. */
const endKeptMs = 1000

/** Sends the head and starts the stream. Must be called within the library's handler or a cork. */
export function openStream(closing: Closing, receiver: Receiver, answer: Answer, stream: Stream): void {
  const sending = new Sending(closing, receiver, stream)
  receiver.res.onAborted(() => {
    receiver.aborted = true
    sending.onGone()
  })
  writeHead(receiver, answer)
  if (receiver.closing) receiver.res.writeHeader('connection', 'close')
  receiver.res.onWritable(() => {
    sending.onWritable()
    return true
  })
  stream.begin(sending)
}

class Sending implements Outlet {
  /** True after the stream has ended or the client has disconnected. */
  #isOver = false
  #lastPiece: Uint8Array | undefined
  /** True after everything was sent: more bytes would follow the end of the body. */
  #isComplete = false

  constructor(
    private readonly closing: Closing,
    private readonly receiver: Receiver,
    private readonly stream: Stream,
  ) {}

  send(piece: Uint8Array): boolean {
    if (this.#isOver || this.#lastPiece !== undefined) return false
    const { res } = this.receiver
    let isTaken = false
    res.cork(() => {
      res.write(piece)
      isTaken = res.write(this.stream.filler)
    })
    return isTaken
  }

  end(piece: Uint8Array): void {
    // From a timer, because the last piece may close the connection (closing.ts).
    setTimeout(() => {
      if (this.#isOver || this.#lastPiece !== undefined) return
      this.#lastPiece = piece
      this.closing.lingering.add(this.receiver)
      this.#sendLast(piece)
    }, 0)
  }

  close(): void {
    setTimeout(() => this.#close(), 0)
  }

  onGone(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.closing.lingering.delete(this.receiver)
    if (!this.#isComplete) this.stream.onGone()
  }

  onWritable(): void {
    if (this.#isOver) return
    const { res } = this.receiver
    // An empty cork sends the library's buffer.
    if (this.#isComplete) return void res.cork(() => {})
    if (this.#lastPiece !== undefined) return this.#sendLast(this.#lastPiece)
    let isTaken = false
    res.cork(() => (isTaken = res.write(this.stream.filler)))
    if (isTaken) this.stream.onWritable()
  }

  /** Sends the last piece, which is small, if the client has taken everything else; otherwise `onWritable` calls this method again. */
  #sendLast(piece: Uint8Array): void {
    const { closing, receiver } = this
    const { res } = receiver
    // A drain closes connections that stay open here.
    const staysOpen = !receiver.closing && receiver.bodyEnded
    res.cork(() => {
      if (!res.write(this.stream.filler)) return
      this.#isComplete = true
      res.write(piece)
      if (staysOpen) res.end('')
      else res.writeHeader(lastChunk, 'closed\r\n')
    })
    if (!this.#isComplete) return
    closing.lingering.delete(receiver)
    if (staysOpen) this.#isOver = true
    else closing.whenBodyEnds(receiver, () => setTimeout(() => this.#close(), endKeptMs))
    this.stream.onGone()
  }

  #close(): void {
    if (!this.#isOver) this.receiver.res.close()
  }
}
