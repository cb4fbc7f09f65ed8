/**
 * Topics that this process has lately seen without properties: a write of one of them needs no read before it, because
 * lmdb checks the item's version in the transaction. Only a guess: a topic may have changed since, and two paths may
 * share a slot. A wrong guess costs the writer one commit more, after which it reads; it never changes an outcome.
 *
 * A table of hashes, so that its size is fixed and a look costs nothing beside the read that it saves.
 */
import { plainTopicsKnownBits } from '../../limits.js'
import type { Path } from '../../topics/path.js'
import type { TopicType } from '../../topics/topic.js'

/** The starts of the hashes of both types: a path is known as a topic of one type. */
const seeds: Readonly<Record<TopicType, number>> = { json: 0x811c9dc5, string: 0x01000193 }

export class PlainTopics {
  /** Each hash in the slot of its highest bits; 0 where there is none. */
  readonly #hashes = new Int32Array(2 ** plainTopicsKnownBits)

  has(path: Path, type: TopicType): boolean {
    const hash = hashOf(path, type)
    return this.#hashes[slotOf(hash)] === hash
  }

  add(path: Path, type: TopicType): void {
    const hash = hashOf(path, type)
    this.#hashes[slotOf(hash)] = hash
  }

  delete(path: Path, type: TopicType): void {
    const hash = hashOf(path, type)
    const slot = slotOf(hash)
    if (this.#hashes[slot] === hash) this.#hashes[slot] = 0
  }
}

/** FNV-1a over UTF-16 units, with the last step of MurmurHash3 to spread it over the highest bits; never 0. */
function hashOf(path: Path, type: TopicType): number {
  let hash = seeds[type]
  for (let i = 0; i < path.length; i++) hash = Math.imul(hash ^ path.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16) || 1
}

function slotOf(hash: number): number {
  return hash >>> (32 - plainTopicsKnownBits)
}
