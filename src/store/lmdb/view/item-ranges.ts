/**
 * The items of key ranges without their keys. lmdb passes each value of the range to the decoder of the scanned tree, which passes
 * it on to the receiver. The "values" of the range are the receiver's results.
 *
 * This file opens the item trees again, with this decoder and without their keys: decoding keys would be a third of a page's cost.
 * These handles serve no other purpose.
 */
import { strict as assert } from 'node:assert'
import type { Database } from 'lmdb'
import type { TopicType } from '../../../topics/topic.js'
import type { View } from '../../engine.js'
import { type Environment, type StoredKey, writeStoredKey } from '../environment/environment.js'

/** Keys are not read; each value tells whether the receiver takes more. */
type ItemTree = Database<boolean, StoredKey>

/** Reads in lmdb's current snapshot. Call in the turn in which the environment was opened. */
export function createItemRanges({ root }: Environment): View['items'] {
  const view = createItemView()
  let receive: (item: Uint8Array) => boolean = () => false
  const decode = (bytes: Buffer, size: number): boolean => receive(view(bytes, size))
  const openTree = (name: TopicType): ItemTree => {
    const encoder = { encode: () => assert.fail('items are only read'), decode }
    const keyEncoder = { writeKey: writeStoredKey, readKey: () => null }
    const options = { name, useVersions: true, keyEncoder, encoder } as const
    return root.openDB<boolean, StoredKey>(options)
  }
  const trees = { json: openTree('json'), string: openTree('string') }
  return (type, ranges, _ahead, take) => {
    receive = take
    for (const range of ranges) {
      for (const { value: goesOn } of trees[type].getRange(range)) if (!goesOn) return
    }
  }
}

/** Views of larger items are not cached: their cost is negligible compared to the copying. */
const cachedBytesMax = 2048

/**
 * Returns a function that views the first `size` bytes, valid as long as the bytes are. lmdb returns most items in one buffer whose
 * `length` it overwrites, so only a view created from (buffer, offset, size) is safe. Creating one costs as much as copying a small
 * item. Caching views by size saves a sixth of the cost of a page of 100 (`npm run bench -- page-100 --driver wrk`).
 */
export function createItemView(): (bytes: Buffer, size: number) => Uint8Array {
  // A Buffer never changes its memory, and reading `buffer` costs as much as the rest, so compare the Buffer itself.
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
