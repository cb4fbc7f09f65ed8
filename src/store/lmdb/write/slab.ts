/**
 * Items on their way to lmdb, which copies a value within `put`, from an address that it looks up once for each
 * ArrayBuffer by a native call. So small items share one large ArrayBuffer, a slab. A slab is never reused: its items
 * wait for their transaction, and the collector frees it when no write refers to it any more.
 */
import type { Path } from '../../../topics/path.js'
import { itemBytesMax, type TopicType, writeItem } from '../../../topics/topic.js'
import type { Tree } from '../environment/environment.js'

/** Small items on their way to lmdb share buffers of this size, each of which holds hundreds of them. */
export const slabBytes = 256 * 1024

/** Items that may be larger than this have buffers of their own, so that little of a slab is left over. */
export const itemInSlabBytesMax = 16 * 1024

/** A value as lmdb also accepts it: the bytes of a buffer from `start` to `end`. */
interface Slab extends Buffer {
  start: number
  end: number
}

/** The bytes of an item, in a slab or alone. */
export interface ItemBytes {
  readonly slab: Slab
  readonly start: number
  readonly end: number
}

export class Slabs {
  #slab = newSlab(slabBytes)
  #end = 0

  /** The fetch result item of a topic, as `encodeItem` makes it. */
  item(path: Path, type: TopicType, valueText: Uint8Array | undefined): ItemBytes {
    const bytesMax = itemBytesMax(path, valueText)
    if (bytesMax > itemInSlabBytesMax) {
      const slab = newSlab(bytesMax)
      return { slab, start: 0, end: writeItem(slab, 0, path, type, valueText) }
    }
    if (this.#end + bytesMax > slabBytes) {
      this.#slab = newSlab(slabBytes)
      this.#end = 0
    }
    const start = this.#end
    this.#end = writeItem(this.#slab, start, path, type, valueText)
    return { slab: this.#slab, start, end: this.#end }
  }
}

/** The whole memory that a buffer is a part of, so that items in it can be passed to lmdb without a copy. */
export function slabOf({ buffer }: Buffer): Slab {
  return Object.assign(Buffer.from(buffer as ArrayBuffer), { start: 0, end: 0 })
}

/** The bytes of an item, as a view. */
export function bytesOf({ slab, start, end }: ItemBytes): Uint8Array {
  return slab.subarray(start, end)
}

/** Passes an item to lmdb, within a transaction's callback. */
export function putItem(tree: Tree, path: Path, item: ItemBytes, version: number): void {
  const { slab } = item
  slab.start = item.start
  slab.end = item.end
  void tree.put(path, slab, version)
}

function newSlab(bytes: number): Slab {
  return Object.assign(Buffer.allocUnsafeSlow(bytes), { start: 0, end: 0 })
}
