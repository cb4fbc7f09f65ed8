/** Bytes are split into lines, regardless of where the pieces start and end. */
import t from 'tap'
import { LineTooLong, splitLines } from '../../dist/tools/lines.js'

async function* inPieces(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text)
  for (let start = 0; start < all.length; start += bytes) yield all.subarray(start, start + bytes)
}

async function linesOf(chunks: AsyncIterable<Uint8Array>, bytesMax = 100, unfinished?: 'taken' | 'dropped') {
  const lines: string[] = []
  for await (const line of splitLines(chunks, bytesMax, unfinished)) lines.push(Buffer.from(line).toString())
  return lines
}

t.test('bytes in pieces of any size are split into the same lines', async (t) => {
  const text = 'first\n\n{"é":1}\r\nlast\n'
  for (let bytes = 1; bytes <= Buffer.byteLength(text) + 1; bytes++) {
    t.strictSame(await linesOf(inPieces(text, bytes)), ['first', '', '{"é":1}\r', 'last'], `pieces of ${bytes} bytes`)
  }
  t.strictSame(await linesOf(inPieces('', 1)), [])
})

t.test('a byte order mark is not part of the first line and does not count towards its length', async (t) => {
  for (let bytes = 1; bytes <= 15; bytes++) {
    t.strictSame(await linesOf(inPieces('\ufeffexactly 10\n\ufeffa', bytes), 10), ['exactly 10', '\ufeffa'])
    const thrown = await linesOf(inPieces('\ufeffexactly 11!\n', bytes), 10).catch((error: unknown) => error)
    t.ok(thrown instanceof LineTooLong)
  }
})

t.test('a last line without a line feed is returned or dropped, as the caller chooses', async (t) => {
  t.strictSame(await linesOf(inPieces('one\ntwo', 2)), ['one', 'two'])
  t.strictSame(await linesOf(inPieces('one\ntwo', 2), 100, 'dropped'), ['one'])
})

t.test('a line may have the allowed length; one more byte is rejected before the line ends', async (t) => {
  const unfinished = 'x'.repeat(10)
  t.strictSame(await linesOf(inPieces(`${unfinished}\n`, 3), 10), [unfinished])
  const thrown = await linesOf(inPieces(`${unfinished}x`, 3), 10).catch((error: unknown) => error)
  t.ok(thrown instanceof LineTooLong)
})

t.test('a complete line that is too long is rejected after the lines before it, in pieces of any size', async (t) => {
  const text = `${'a'.repeat(10)}\n${'b'.repeat(11)}\nc\n`
  for (let bytes = 1; bytes <= text.length; bytes++) {
    const lines: string[] = []
    const reading = async (): Promise<void> => {
      for await (const line of splitLines(inPieces(text, bytes), 10)) lines.push(Buffer.from(line).toString())
    }
    const thrown = await reading().catch((error: unknown) => error)
    t.ok(thrown instanceof LineTooLong, `pieces of ${bytes} bytes`)
    t.strictSame(lines, ['a'.repeat(10)], `pieces of ${bytes} bytes`)
  }
})

t.test('bytes that are not UTF-8 are returned unchanged', async (t) => {
  const chunk = async function* () {
    yield Uint8Array.of(0xff, 0xc3, 0x0a)
  }
  const lines: number[][] = []
  for await (const line of splitLines(chunk(), 10)) lines.push([...line])
  t.strictSame(lines, [[0xff, 0xc3]])
})
