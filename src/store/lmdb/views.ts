/**
 * Views of the bytes that lmdb returns. It returns most items in one reused Buffer whose `length` it overwrites, so
 * only a view built from (buffer, offset, size) is safe. Creating one costs as much as copying a small item; views are
 * therefore cached by size, which saves 3 % of a page of ten (`npm run bench -- page-10 --driver wrk`).
 */

/** Views of larger items are not cached: their cost is negligible beside the work on the bytes. */
const cachedBytesMax = 2048

/** @returns a view of the first `size` bytes, valid as long as the bytes are */
type View = (bytes: Buffer, size: number) => Uint8Array

/** A function that makes views, with a cache of its own. */
export function createView(): View {
  // A Buffer never changes its memory, and asking for it costs as much as the rest: so the Buffer itself is compared.
  let cached: Buffer | undefined
  let views: Uint8Array[] = []
  return (bytes, size) => {
    if (size > cachedBytesMax) return new Uint8Array(bytes.buffer, bytes.byteOffset, size)
    if (bytes !== cached) {
      cached = bytes
      views = []
    }
    return (views[size] ??= new Uint8Array(bytes.buffer, bytes.byteOffset, size))
  }
}
