/**
 * A page as one range scan, for plans without a matcher: lmdb hands each value of the range to the decoder of the tree
 * that is scanned, and that decoder copies it straight into the page. Buffer, decoder and scan are all in this file,
 * because the decoder is what fills the page while the scan merely iterates: its "values" are the bytes of the page so
 * far.
 *
 * The items trees are opened here once more, with options of their own: decoded by copying, and without their keys,
 * whose decoding would be a third of a page's cost. These handles are used for nothing else.
 */
import { strict as assert } from 'node:assert'
import type { Database } from 'lmdb'
import type { KeyRange } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Page, PageQuery } from '../../topics.js'
import { type Environment, type StoredKey, writeStoredKey } from '../environment/environment.js'
import { createPageBuffer } from './page-buffer.js'

/** Keys are not read; each value is the size of the page so far, in bytes. */
type PageTree = Database<number, StoredKey>

export class PageScan {
  readonly #buffer = createPageBuffer()
  readonly #trees: Readonly<Record<TopicType, PageTree>>

  /** To be created in the turn in which the environment was opened. */
  constructor({ root }: Environment) {
    const { copy } = this.#buffer
    const openTree = (name: TopicType): PageTree => {
      const encoder = { encode: () => assert.fail('pages are only read'), decode: copy }
      const keyEncoder = { writeKey: writeStoredKey, readKey: () => null }
      const options = { name, useVersions: true, keyEncoder, encoder } as const
      return root.openDB<number, StoredKey>(options)
    }
    this.#trees = { json: openTree('json'), string: openTree('string') }
  }

  /** The page of the ranges, valid until the next call. */
  page({ size, bytesMax }: PageQuery, type: TopicType, ranges: readonly KeyRange[]): Page {
    const buffer = this.#buffer
    const tree = this.#trees[type]
    let count = 0
    buffer.begin()
    for (const range of ranges) {
      for (const { value: bytes } of tree.getRange(range)) {
        count++
        if (count > size || (count > 1 && bytes > bytesMax)) {
          buffer.dropLast()
          return buffer.finish(true)
        }
      }
    }
    return buffer.finish(false)
  }
}
