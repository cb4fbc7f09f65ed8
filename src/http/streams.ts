/**
 * Answers whose bodies have no known end: chunked, sent piece by piece, until one side ends them. Other answers are in
 * response.ts. What is sent, and when, is the stream's.
 *
 * - The library sends a chunk without its last line end, and sends that with the next one. Some clients do not hand a chunk
 *   over before that has come. So each piece is followed by a comment, a chunk that may be late.
 * - What a client does not take is kept by the library without bound, and whether it takes everything is known only at the
 *   next piece. So after the first `false`, nothing may be sent until it takes more.
 * - With a listener for that, the library sends nothing of what it has kept by itself: the listener has to write something.
 * - A client that takes nothing for 10 s is gone: the library closes the connection.
 */
import type { Answer, Stream } from './answer.js'
import type { Receiver } from './closing.js'
import { writeHead } from './head.js'

/** A comment of an event stream. */
const comment = Buffer.from(':\n')

/** Sends the head, and lets the stream begin. Must be called within the library's handler or a cork. */
export function openStream(receiver: Receiver, answer: Answer, stream: Stream): void {
  const { res } = receiver
  let isOver = false
  const over = (): void => {
    if (isOver) return
    isOver = true
    stream.onGone()
  }
  res.onAborted(over)
  writeHead(receiver, answer)
  if (receiver.closing) res.writeHeader('connection', 'close')
  res.onWritable(() => {
    let takesMore = false
    if (!isOver) res.cork(() => (takesMore = res.write(comment)))
    if (takesMore) stream.onWritable()
    return true
  })
  stream.begin({
    send(piece) {
      if (isOver) return false
      let takesMore = false
      res.cork(() => {
        res.write(piece)
        takesMore = res.write(comment)
      })
      return takesMore
    },
    end(piece) {
      // A connection may be closed from a timer alone (closing.ts).
      setTimeout(() => {
        if (isOver) return
        isOver = true
        res.cork(() => {
          res.write(piece)
          // Told to close now, the library would write a header into the body. A drain closes the connection later.
          res.end('', receiver.closing)
        })
      }, 0)
    },
    close() {
      setTimeout(() => {
        if (!isOver) res.close()
      }, 0)
    },
  })
}
