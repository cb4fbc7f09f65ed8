/** Server-sent events, parsed from text as it arrives. Unknown fields are skipped, as the standard requires. */

interface StreamEvent {
  /** The event's name; `message` by default. */
  readonly event: string
  readonly data: string
}

export class EventParser {
  /** The pieces of an incomplete event, kept separately so that each is searched only once. */
  #pieces: string[] = []
  /** The maximum wait before the next connection, if the service specified one. */
  retryMs: number | undefined

  /** @returns the events that this piece completes */
  push(piece: string): readonly StreamEvent[] {
    if (piece === '') return []
    const last = this.#pieces.at(-1)
    // An empty line may be split between two pieces.
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
