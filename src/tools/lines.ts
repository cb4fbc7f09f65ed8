/** Splits a stream of bytes, read to its end, into lines (base/lines.ts). */
import { Lines, TooLong } from '../base/lines.js'

export class LineTooLong extends Error {}

/**
 * @param unfinished whether a last line without a line feed is yielded or dropped
 * @throws LineTooLong for a line longer than `bytesMax`, after yielding the earlier lines
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
  unfinished: 'taken' | 'dropped' = 'taken',
): AsyncGenerator<Buffer> {
  const lines = new Lines(bytesMax)
  for await (const chunk of chunks) {
    lines.add(chunk)
    yield* arrived(lines, bytesMax)
  }
  if (unfinished === 'dropped') return
  lines.end()
  yield* arrived(lines, bytesMax)
}

function* arrived(lines: Lines, bytesMax: number): Generator<Buffer> {
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    if (line instanceof TooLong) throw tooLong(bytesMax)
    yield line
  }
  if (lines.isTooLong) throw tooLong(bytesMax)
}

function tooLong(bytesMax: number): LineTooLong {
  return new LineTooLong(`a line is longer than the limit of ${bytesMax} bytes`)
}
