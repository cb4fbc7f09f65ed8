/**
 * Answers whose bodies have no known end: chunked, sent piece by piece, until one side ends them. Other answers are in
 * response.ts. What is sent, and when, is the stream's.
 *
 * - The library sends a chunk without its last line end, and sends that with the next one. Some clients do not hand a chunk
 *   over before that has come. So each piece is followed by the stream's filler, a chunk that may be late.
 * - What a client does not take is kept by the library without bound, and whether it takes everything is known only at the
 *   next piece. So after the first `false`, nothing may be sent until it takes more, and before the end a filler asks.
 * - Of the end itself, some hundred bytes, that is never known, and closing discards what the library has kept. So where
 *   the connection is closed here, that waits a while (`endKeptMs`).
 * - With a listener for that, the library sends nothing of what it has kept by itself: the listener has to write something.
 * - Told to close with the end of a body in chunks, it writes a header into it. So where the connection ends with the body, the
 *   last chunk is written as the name of a trailer, and the connection is closed here: for the library the answer is never
 *   complete, so that a further request ends the connection (closing.ts).
 * - A client that takes nothing for 10 s is gone: the library closes the connection.
 */
import type { Answer, Outlet, Stream } from './answer.js'
import type { Closing, Receiver } from './closing.js'
import { writeHead } from './head.js'

/** The end of a chunk, the last chunk, and the name of a trailer: the library puts a value behind it, and two line ends. */
const lastChunk = '\r\n0\r\nconnection-state'

/** How long the library may keep the end of a body: a client that reads makes room sooner. Most close before that. */
const endKeptMs = 1000

/** Sends the head, and lets the stream begin. Must be called within the library's handler or a cork. */
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
  /** True once the stream has ended, or its client has gone. */
  #isOver = false
  #lastPiece: Uint8Array | undefined
  /** True once everything was sent: more bytes would follow the end of the body. */
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
    // A connection may be closed from a timer alone (closing.ts).
    setTimeout(() => {
      if (this.#isOver || this.#lastPiece !== undefined) return
      this.#lastPiece = piece
      this.#sendLast(piece)
    }, 0)
  }

  close(): void {
    setTimeout(() => this.#close(), 0)
  }

  onGone(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.#isComplete) this.stream.onGone()
  }

  onWritable(): void {
    if (this.#isOver) return
    const { res } = this.receiver
    // An empty cork hands over what the library has kept.
    if (this.#isComplete) return void res.cork(() => {})
    if (this.#lastPiece !== undefined) return this.#sendLast(this.#lastPiece)
    let isTaken = false
    res.cork(() => (isTaken = res.write(this.stream.filler)))
    if (isTaken) this.stream.onWritable()
  }

  /** Sends the last piece, a small one, if everything before it has been taken; otherwise `onWritable` comes back. */
  #sendLast(piece: Uint8Array): void {
    const { closing, receiver } = this
    const { res } = receiver
    // A drain closes a connection that stays open later.
    const staysOpen = !receiver.closing && receiver.bodyEnded
    res.cork(() => {
      if (!res.write(this.stream.filler)) return
      this.#isComplete = true
      res.write(piece)
      if (staysOpen) res.end('')
      else res.writeHeader(lastChunk, 'closed\r\n')
    })
    if (!this.#isComplete) return
    if (staysOpen) this.#isOver = true
    else closing.whenBodyEnds(receiver, () => setTimeout(() => this.#close(), endKeptMs))
    this.stream.onGone()
  }

  #close(): void {
    if (!this.#isOver) this.receiver.res.close()
  }
}
