/** The lines of a stream of bytes, for those who read it to its end. How it is cut into lines is in base/lines.ts. */
import { Lines, TooLong } from '../base/lines.js'

export class LineTooLong extends Error {}

/**
 * @param unfinished what happens to a last line without a line feed
 * @throws LineTooLong for a line longer than `bytesMax`, after the lines before it
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
  return new LineTooLong(`a line is longer than the ${bytesMax} bytes allowed`)
}
