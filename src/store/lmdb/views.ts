/**
 * Views of the bytes that lmdb hands out. It reads nearly every item into one buffer of its own, whose length it sets by
 * hand, so that only a view made of the parts is what it seems to be; and making one costs as much as copying a small item,
 * so they are kept, one a length: 3 % of a page of ten (`npm run bench -- page-10 --driver wrk`).
 */

/** Beyond this a view's cost is lost in what is done with the bytes. */
const keptBytesMax = 2048

/** @returns a view of the first `size` bytes, good as long as those are */
export type View = (bytes: Buffer, size: number) => Uint8Array

export function createView(): View {
  let buffer: ArrayBufferLike | undefined
  let offset = 0
  let views: Uint8Array[] = []
  return (bytes, size) => {
    if (size > keptBytesMax) return new Uint8Array(bytes.buffer, bytes.byteOffset, size)
    if (bytes.buffer !== buffer || bytes.byteOffset !== offset) {
      buffer = bytes.buffer
      offset = bytes.byteOffset
      views = []
    }
    return (views[size] ??= new Uint8Array(bytes.buffer, offset, size))
  }
}
