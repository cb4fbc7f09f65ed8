/**
 * Splits bytes into lines without decoding them: the reader of a line must be able to refuse invalid UTF-8, which
 * decoding would replace.
 */

const lineEnd = 0x0a

/** A line that is longer than it may be. */
export class LineTooLong extends Error {}

/**
 * The lines of `chunks`, without their ends. Each is valid until the next is requested.
 *
 * @param unfinished what happens to a last line without a line feed
 * @throws LineTooLong for a line longer than `bytesMax`, after the lines before it
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
  unfinished: 'taken' | 'dropped' = 'taken',
): AsyncGenerator<Uint8Array> {
  let begun: Uint8Array[] = []
  let begunBytes = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, start)) {
      const rest = chunk.subarray(start, end)
      start = end + 1
      checkLength(begunBytes + rest.length, bytesMax)
      if (begunBytes === 0) yield rest
      else {
        yield Buffer.concat([...begun, rest])
        begun = []
        begunBytes = 0
      }
    }
    if (start === chunk.length) continue
    begun.push(chunk.subarray(start))
    begunBytes += chunk.length - start
    checkLength(begunBytes, bytesMax)
  }
  if (begunBytes > 0 && unfinished === 'taken') yield Buffer.concat(begun)
}

function checkLength(bytes: number, bytesMax: number): void {
  if (bytes > bytesMax) throw new LineTooLong(`a line is longer than the ${bytesMax} bytes allowed`)
}
