/**
 * Server-sent events, as they are cut out of what arrives. Only the fields that the service sends are known; comments and
 * all others are passed over, as the standard wants it.
 */

/** One event. */
interface StreamEvent {
  /** `message` unless the service names it. */
  readonly event: string
  readonly data: string
}

/** Cuts pieces of text, as they arrive, into events. */
export class EventParser {
  /** The pieces of an event that is not complete, so that each is searched once, however many there are. */
  #pieces: string[] = []
  /** How long to wait before the next connection, in ms, if the service has said so. */
  retryMs: number | undefined

  /** @returns the events that this piece completes */
  push(piece: string): readonly StreamEvent[] {
    if (piece === '') return []
    const last = this.#pieces.at(-1)
    // An empty line may be cut in two.
    const mayComplete = piece.includes('\n\n') || (piece.startsWith('\n') && last?.endsWith('\n') === true)
    this.#pieces.push(piece)
    if (!mayComplete) return []
    const blocks = this.#pieces.join('').split('\n\n')
    this.#pieces = [blocks.pop() ?? '']
    return blocks.flatMap((block) => this.#read(block))
  }

  #read(block: string): readonly StreamEvent[] {
    let event = 'message'
    const data: string[] = []
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':')
      const name = colon === -1 ? line : line.slice(0, colon)
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (name === 'event') event = value
      if (name === 'data') data.push(value)
      if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    }
    return data.length === 0 ? [] : [{ event, data: data.join('\n') }]
  }
}
