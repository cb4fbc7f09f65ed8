/**
 * Fetching in other forms: with properties or versions, without values, of both types, with a limit for each branch. The keys of a
 * type are those of its items, the keys of both those of the specifications; what an item shows beside its stored form
 * is read from there, topic by topic. Every page is a scan of keys (sliced-scans.ts).
 */

import type { Awaitable } from '../../../base/awaitable.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { keyAfter, rangesFrom } from '../../../topics/range.js'
import { bareItem, headBytes, propertiesMember, type TopicType } from '../../../topics/topic.js'
import { versionMembers } from '../../../topics/version.js'
import { limitBranches } from '../../branches.js'
import type { Cancellation } from '../../cancellation.js'
import type { TopicStore } from '../../store.js'
import type { Absent, ItemForm, ListingQuery, Page } from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import { versionOfLastRead } from '../environment/versions.js'
import type { ScanSource } from './match-scan.js'
import type { Snapshots } from './read-freshness.js'
import { itemView } from './reads.js'
import type { Scans } from './sliced-scans.js'
import { readSpecification, readType } from './specification.js'

/** Its operations are arrow functions in fields, as those of `Reads`. */
export class Listings implements Pick<TopicStore, 'readTopicAs' | 'readListing'> {
  readonly #items: Environment['items']
  readonly #specifications: Environment['specifications']
  readonly #conversionVersion: number

  constructor(
    environment: Environment,
    private readonly snapshots: Snapshots,
    private readonly scans: Scans,
  ) {
    this.#items = environment.items
    this.#specifications = environment.specifications
    this.#conversionVersion = environment.conversionVersion
  }

  readonly readTopicAs = (path: Path, form: ItemForm): Uint8Array | Absent => {
    this.snapshots.forRequest()
    const type = readType(this.#specifications, path)
    if (type === undefined) return 'no_such_topic'
    if (form.type !== 'any' && form.type !== type) return 'incompatible_type'
    const item = this.#readItem(path, form)
    return item === undefined ? 'no_such_topic' : itemView(item)
  }

  readonly readListing = (query: ListingQuery, cancellation: Cancellation): Awaitable<Page> => {
    this.snapshots.forRequest()
    const { plan, after, form, branches } = query
    const source: ScanSource = {
      tree: form.type === 'any' ? this.#specifications : this.#items[form.type],
      readItem: (path) => this.#readItem(path, form),
    }
    if (branches !== undefined)
      return this.scans.page(source, limitBranches(plan, branches, after), query, cancellation)
    const ranges = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
    return this.scans.page(source, { ranges, matcher: plan.matcher }, query, cancellation)
  }

  /** The item of a topic of the form's type, in this form; undefined without one. Valid until the next read. */
  #readItem(path: Path, form: ItemForm): Buffer | undefined {
    // lmdb may use the same buffer for every record, so the item is read last.
    const properties = form.properties ? this.#propertiesText(path) : undefined
    const type = form.type === 'any' ? readType(this.#specifications, path) : form.type
    if (type === undefined) return undefined
    const item = form.versions ? this.#versionedItem(path, type, form.values) : this.#plainItem(path, type, form.values)
    if (item === undefined || properties === undefined) return item
    const head = new Uint8Array(item.buffer, item.byteOffset, item.length - 1)
    return Buffer.concat([head, Buffer.from(propertiesMember(properties))])
  }

  #plainItem(path: Path, type: TopicType, hasValue: boolean): Buffer | undefined {
    return hasValue ? this.#items[type].getBinaryFast(path) : Buffer.from(bareItem(path, type))
  }

  #versionedItem(path: Path, type: TopicType, hasValue: boolean): Buffer | undefined {
    const item = this.#items[type].getBinaryFast(path)
    if (item === undefined) return undefined
    const members = Buffer.from(versionMembers(versionOfLastRead(this.#conversionVersion)))
    const head = headBytes(path, type)
    return Buffer.concat([item.subarray(0, head), members, item.subarray(hasValue ? head : item.length - 1)])
  }

  #propertiesText(path: Path): string {
    const details = readSpecification(this.#specifications, path)?.details
    return details === undefined ? '{}' : JSON.stringify(details.properties)
  }
}
