/**
 * Views of the items that lmdb returns. It returns most of them in one buffer whose `length` it overwrites, so only a view
 * made from (buffer, offset, size) is safe. Creating one costs as much as copying a small item: cached by their sizes,
 * they save a sixth of a page of 100 (`npm run bench -- page-100 --driver wrk`).
 */

/** Views of larger items are not cached: their cost is negligible next to the copying. */
const cachedBytesMax = 2048

/** Returns a function that views the first `size` bytes, valid as long as the bytes are, with a cache of its own. */
export function createItemView(): (bytes: Buffer, size: number) => Uint8Array {
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
