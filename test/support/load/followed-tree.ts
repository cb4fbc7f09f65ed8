/**
 * A tree that changes, and readers that follow it in different ways, by polls and by streams, with different keys, during any kind of
 * disruption. In the end no reader was shown anything wrong, and each reader's state equals the result of a fetch.
 */
import { strict as assert } from 'node:assert'
import type { Test } from 'tap'
import type { Results } from '../proof-results.js'
import type { Random } from '../random.js'
import type { ChangedItem } from '../service/changes.js'
import { Client } from '../service/client.js'
import { type Server, until } from '../service/server.js'
import { ChangeReader, type Interest } from './change-reader.js'
import { ChangingTree } from './changing-tree.js'
import type { Target } from './follow.js'

const readers = 16

const interests: readonly Interest[] = [
  { selector: '?.*//', type: 'any', size: 1000 },
  { selector: '?.*//', type: 'json', size: 7 },
  { selector: '*count//', type: 'json', size: 3 },
  { selector: '*batch//', type: 'json', size: 2 },
  { selector: '?passing/[02]/.*5//', type: 'any', size: 4 },
  { selector: '?passing//', type: 'string', size: 10 },
  { selector: '?passing//', type: 'any', size: 1, with_values: false },
  { selector: '#>count/1////*batch/one//', type: 'json', size: 5 },
]

interface FollowedTreeOptions {
  /** The service's current address; with several hosts, a different one each time. */
  readonly target: () => Target | undefined
  /** A key that can access only a part of the tree, from `limitedKey`. */
  readonly limited: string
  readonly random: Random
  /** Whether a failover may lose changes that a token covers. */
  readonly mayBeGone?: boolean
}

/** A key that some of the readers use. */
export function limitedKey(server: Server): Promise<string> {
  return server.addKey('limited', { under: ['count', 'passing/1'], allow: ['fetch'] })
}

interface Follower {
  readonly interest: Interest
  readonly limited: string | undefined
  readonly reader: ChangeReader
}

export class FollowedTree {
  readonly tree: ChangingTree
  readonly #target: () => Target | undefined
  readonly #followers: readonly Follower[]

  /** Writers and readers start immediately. */
  constructor({ target, limited, random, mayBeGone = false }: FollowedTreeOptions) {
    this.#target = target
    this.tree = new ChangingTree(target, random)
    const withLimited = (): Target | undefined => {
      const now = target()
      return now && { url: now.url, token: limited }
    }
    this.#followers = Array.from({ length: readers }, (_, i) => {
      const interest = interests[i % interests.length] as Interest
      const isLimited = i % 5 === 4
      const options = { interest, target: isLimited ? withLimited : target, isStream: i % 2 === 1, mayBeGone }
      return {
        interest,
        limited: isLimited ? limited : undefined,
        reader: new ChangeReader(options, this.tree, random),
      }
    })
  }

  /** The faults found so far. */
  get wrong(): readonly string[] {
    return [
      ...this.tree.wrong,
      ...this.#followers.flatMap(({ interest, reader }) =>
        reader.wrong.map((what) => `${JSON.stringify(interest)}: ${what}`),
      ),
    ]
  }

  results(): Results {
    const sum = (count: (reader: ChangeReader) => number): number =>
      this.#followers.reduce((total, { reader }) => total + count(reader), 0)
    return {
      writes: this.tree.writes,
      changes: this.tree.changes,
      results: sum(({ results }) => results),
      completions: sum(({ completions }) => completions),
      broken: sum(({ broken }) => broken),
      gone: sum(({ gone }) => gone),
      missed: this.wrong.length,
    }
  }

  /** Stops the writers, and waits until the readers have read everything. */
  async stop(): Promise<void> {
    await this.tree.stop()
    await until('every topic that removes itself is gone', async () => !(await this.#hasDue()) || undefined)
    await Promise.all(this.#followers.map(({ reader }) => reader.stop()))
  }

  async #hasDue(): Promise<boolean> {
    const target = this.#target()
    if (target === undefined) return true
    const client = new Client(target.url, target.token, 1)
    const body = { selector: '*passing/due//', type: 'any', with_properties: true }
    const { status, text } = await client.post('fetch', body).finally(() => client.close())
    return status !== 200 || text.includes('REMOVAL')
  }

  /** Call after `stop`. Checks that nothing wrong was shown, and that each reader's state equals the result of a fetch. */
  async check(t: Test, server: Server): Promise<void> {
    t.strictSame(this.wrong.slice(0, 10), [], 'nothing wrong was shown')
    for (const { interest, limited, reader } of this.#followers) {
      const has = [...reader.fold.topics.values()].sort(byPath)
      const there = await fetched(server, interest, limited)
      t.strictSame(has, there, `${JSON.stringify(interest)} after ${reader.completions} complete states`)
    }
  }
}

function byPath({ path: a }: ChangedItem, { path: b }: ChangedItem): number {
  return a < b ? -1 : 1
}

async function fetched(server: Server, interest: Interest, token = server.token): Promise<readonly ChangedItem[]> {
  const items: ChangedItem[] = []
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const body = { ...interest, with_version: true, size: 500, after }
    const { status, text } = await server.post('fetch', body, { token })
    assert.equal(status, 200, text)
    const page = JSON.parse(text) as { has_more: boolean; results: readonly ChangedItem[] }
    items.push(...page.results)
    hasMore = page.has_more
    after = page.results.at(-1)?.path
  }
  assert.equal(new Set(items.map(({ path }) => path)).size, items.length)
  return items.sort(byPath)
}
