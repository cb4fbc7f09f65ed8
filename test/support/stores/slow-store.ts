/**
 * Topics and their log in memory, with one value each. After a read has taken its snapshot, it is delayed as a test requires, like a read
 * from a remote engine.
 */
import type { ChangesStore } from '../../../dist/changes/pages.js'
import type { LoggedChanges, LoggedCommit, LogPlace, LogSnapshot } from '../../../dist/store/changes.js'
import type { Page, PageQuery } from '../../../dist/store/topics.js'
import { encodeKey, keyTextOf, pathOfKeyText } from '../../../dist/topics/key.js'
import { endlessSlice } from '../slices.js'

type Topics = ReadonlyMap<string, number>

/** A place after several commits, and some keys of the next. */
function placeOf(commits: number, keys = 0): LogPlace {
  const place = Buffer.alloc(8)
  place.writeUInt32BE(keys, place.writeUInt32BE(commits))
  return place
}

export class SlowStore implements ChangesStore {
  /** Called in each read after its snapshot is taken; the read ends when this resolves. */
  delay: () => Promise<unknown> = () => Promise.resolve()
  /** Called in each read of a page after its snapshot is taken. */
  onPage: () => void = () => {}
  /** How the log's followers are notified of a commit: `all` with the commit, `some` without it, `none` not at all. */
  tells: () => 'all' | 'some' | 'none' = () => 'some'
  /** Delivers the notification. */
  deliver: (tell: () => void) => void = (tell) => tell()
  /** Whether the log has lost its first commits. */
  isTrimmed = false
  readonly #topics = new Map<string, number>()
  readonly #log: (readonly string[])[] = []
  readonly #followers = new Set<(commit?: LoggedCommit) => void>()

  /** Sets topics in one commit; undefined removes one. */
  commit(values: Readonly<Record<string, number | undefined>>): void {
    const keys = Object.entries(values).map(([path, value]) => {
      const key = keyTextOf(encodeKey(path))
      if (value === undefined) this.#topics.delete(key)
      else this.#topics.set(key, value)
      return key
    })
    this.#log.push(keys)
    const told = this.tells()
    if (told === 'none') return
    const commit = { from: placeOf(this.#log.length - 1), to: placeOf(this.#log.length), keys }
    this.deliver(() => {
      for (const onGrown of this.#followers) onGrown(told === 'all' ? commit : undefined)
    })
  }

  /** Number of followers of the log. */
  get followers(): number {
    return this.#followers.size
  }

  /** All topics, by path. */
  state(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#topics].map(([key, value]) => [pathOfKeyText(key), value]))
  }

  async inSnapshot<T>(work: (log: LogSnapshot) => T | Promise<T>): Promise<T> {
    const topics = new Map(this.#topics)
    const log = [...this.#log]
    await this.delay()
    return work({
      end: () => placeOf(log.length),
      changesAfter: (place, _keysMax, take) => take(this.isTrimmed ? 'gone' : changesAfter(log, place), endlessSlice),
      readItems(paths, _form, _bytesMax, take) {
        for (const path of paths) if (!take(itemOf(keyTextOf(encodeKey(path)), topics))) return
      },
    })
  }

  isAfter(place: LogPlace, earlier: LogPlace): boolean {
    return Buffer.compare(place, earlier) >= 0
  }

  followLog(onGrown: (commit?: LoggedCommit) => void): () => void {
    this.#followers.add(onGrown)
    return () => this.#followers.delete(onGrown)
  }

  async readPage({ plan, after, size }: PageQuery): Promise<Page> {
    const topics = new Map(this.#topics)
    this.onPage()
    await this.delay()
    const from = after === undefined ? '' : `${keyTextOf(encodeKey(after))}\0`
    const keys = [...topics.keys()].filter(
      (key) => key >= from && plan.ranges.some(({ start, end }) => isIn(key, start, end)),
    )
    const items = keys
      .sort()
      .slice(0, size)
      .map((key) => itemOf(key, topics)?.toString())
    const buffer = Buffer.from(items.join(','))
    const lastStart = buffer.length - Buffer.byteLength(items.at(-1) ?? '')
    return { buffer, start: 0, lastStart, end: buffer.length, hasMore: keys.length > size }
  }
}

function isIn(key: string, start: Buffer, end: Buffer): boolean {
  return keyTextOf(start) <= key && key < keyTextOf(end)
}

function itemOf(key: string, topics: Topics): Buffer | undefined {
  const value = topics.get(key)
  return value === undefined
    ? undefined
    : Buffer.from(`{"path":"${pathOfKeyText(key)}","type":"json","value":${value}}`)
}

function changesAfter(log: readonly (readonly string[])[], place: LogPlace): LoggedChanges {
  const [first, skipped] = [place.readUInt32BE(), place.readUInt32BE(4)]
  const places: LogPlace[] = []
  const keys: string[] = []
  for (const [at, commit] of log.entries()) {
    if (at < first) continue
    for (const [index, key] of commit.entries()) {
      if (at === first && index < skipped) continue
      places.push(placeOf(at, index))
      keys.push(key)
    }
  }
  return { keys, isAll: true, placeAt: (index) => places[index] ?? placeOf(log.length) }
}
