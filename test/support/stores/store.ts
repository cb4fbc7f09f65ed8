/**
 * A real store without a server, in the test's own directory, and the operations that tests need. The data is checked when the test ends.
 */
import { strict as assert } from 'node:assert'
import { existsSync, mkdirSync } from 'node:fs'
import type { Test } from 'tap'
import type { Cancellation } from '../../../dist/base/cancellation.js'
import { lockDirectory } from '../../../dist/cluster/directory-lock.js'
import type { Plan } from '../../../dist/selectors/plan.js'
import { planSelector } from '../../../dist/selectors/planner.js'
import { onlyOutcome } from '../../../dist/store/core/write/batch.js'
import { dataFile } from '../../../dist/store/lmdb/environment/files.js'
import { openLmdbStore } from '../../../dist/store/lmdb/open.js'
import type { Finding } from '../../../dist/store/maintenance.js'
import { openStore as openStoreAt } from '../../../dist/store/open.js'
import type { TopicStore } from '../../../dist/store/store.js'
import {
  type Creation,
  type PageQuery,
  storedForms,
  type WriteOperation,
  type WriteOutcome,
  type WriteRefusal,
} from '../../../dist/store/topics.js'
import { encodeKey } from '../../../dist/topics/key.js'
import type { Path } from '../../../dist/topics/path.js'
import { removalOf } from '../../../dist/topics/properties.js'
import type { Properties, TopicType } from '../../../dist/topics/topic.js'
import { at } from '../elements.js'
import { endlessSlice } from '../slices.js'
import '../kept-fixtures.js'
import type { StoreAddress } from './stores.js'

/** A reader that is never cancelled. */
export const waiting = { aborted: false }

/** Opens a store in `directory` until the test's end. */
export function openStore(t: Test, directory: string): TopicStore {
  mkdirSync(directory, { recursive: true })
  const store = openLmdbStore({ directory })
  t.teardown(async () => {
    const findings = await findingsOf(store)
    await store.close()
    assert.deepEqual(findings, [], 'broken data')
  })
  return store
}

/**
 * Checks the data that a service has left, like `topicd check`, but in this process: another process would take half a second after each
 * service of each test.
 */
export async function checkStore(address: StoreAddress, directory: string): Promise<void> {
  if (address !== 'lmdb') return walkStore(address, directory)
  // Opening a missing store would create an empty one, which passes the check.
  assert(existsSync(dataFile(directory)), `no store is left in ${directory}`)
  const lock = await lockDirectory(directory, deadlineMs)
  assert(lock !== undefined, `another process still has the store in ${directory} open`)
  await walkStore(address, directory).finally(lock.release)
}

async function walkStore(address: StoreAddress, directory: string): Promise<void> {
  const store = await openStoreAt(address, { directory })
  try {
    const findings: Finding[] = []
    const { records } = await store.check((finding) => findings.push(finding), planSelector)
    assert.deepEqual(findings, [], 'broken data')
    // Each service has at least its test's key.
    assert(records > 0, `the store in ${directory} is empty`)
  } finally {
    await store.close()
  }
}

/** Time after which a worker that outlives its service counts as hung. */
const deadlineMs = 60_000

/** Creates a data directory with these topics, for a server to start on. */
export async function makeDirectory(directory: string, paths: readonly string[]): Promise<void> {
  mkdirSync(directory, { recursive: true })
  const store = openLmdbStore({ directory })
  await load(store, paths)
  await store.close()
}

/** Writes in flight while loading: enough to fill the commits. */
const loadsAtOnce = 4000

/** Marks a path written in a test as valid. */
export const path = (text: string): Path => text as Path

/** The findings of a check. */
export async function findingsOf(store: TopicStore): Promise<readonly string[]> {
  const found: string[] = []
  await store.check((finding) => found.push(finding), planSelector)
  return found
}

/** The findings of a check of a store in LMDB that is not open. */
export async function findingsIn(directory: string): Promise<readonly string[]> {
  const store = openLmdbStore({ directory })
  return findingsOf(store).finally(() => store.close())
}

/** The version in a fetch's response. */
export async function versionShown(store: TopicStore, topic: string, values = false): Promise<number> {
  const form = { type: 'any', values, properties: true, versions: true } as const
  const item = await store.readTopic(path(topic), form)
  assert(typeof item !== 'string', `${topic}: ${item}`)
  return (JSON.parse(Buffer.from(item).toString()) as { version: number }).version
}

/** The parameters of a topic's creation, with REMOVAL parsed. */
export function creation(path: string, type: TopicType = 'json', properties: Properties = {}): Creation {
  return { path: path as Path, type, properties, removal: removalOf(properties) }
}

/** Functions that each execute one operation and resolve with its outcome; for a removal, with whether the topic existed. */
export const single = {
  set: (store: Writer, path: Path, type: TopicType, valueText: Uint8Array) =>
    writeOne(store, { kind: 'set', path, type, valueText }),
  add: (store: Writer, created: Creation) => writeOne(store, { kind: 'add', ...created, valueText: undefined }),
  addAndSet: (store: Writer, created: Creation, valueText: Uint8Array) =>
    writeOne(store, { kind: 'addAndSet', ...created, valueText }),
  remove: async (store: Writer, path: Path) =>
    (await writeOne(store, { kind: 'remove', path, valueText: undefined })) === 'removed',
} as const

type Writer = Pick<TopicStore, 'write'>

async function writeOne(store: Writer, operation: WriteOperation): Promise<WriteOutcome | WriteRefusal> {
  return onlyOutcome(await store.write([operation]))
}

/** Creates topics; the value of each is its own path. */
export async function load(store: Writer, paths: readonly string[], type: TopicType = 'json'): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < paths.length) {
      const path = at(paths, next++)
      const valueText = Buffer.from(JSON.stringify(path))
      assert.equal(await single.addAndSet(store, creation(path, type), valueText), 'created')
    }
  }
  await Promise.all(Array.from({ length: Math.min(loadsAtOnce, paths.length) }, lane))
}

/** The plan of a valid selector. */
export function planned(selector: string): Plan {
  const plan = planSelector(selector)
  assert(!('problem' in plan), `${selector} is not a valid selector`)
  return plan
}

/** Whether the service's plan selects this path. */
export function isSelected(selector: string, path: string): boolean {
  const { ranges, matcher } = planned(selector)
  const key = encodeKey(path)
  const isInRange = ranges.some(({ start, end }) => Buffer.compare(start, key) <= 0 && Buffer.compare(key, end) < 0)
  return isInRange && (matcher?.(path, endlessSlice) ?? true) === true
}

/** The plan with a matcher that first passes each path to `see`. */
export function watched({ ranges, matcher }: Plan, see: (path: string) => void): Plan {
  return {
    ranges,
    matcher: (path, slice) => {
      see(path)
      return matcher === undefined || matcher(path, slice)
    },
  }
}

/** Reads a page; returns its items, and whether there are more. */
export async function readItems(
  store: Pick<TopicStore, 'readPage'>,
  query: Pick<PageQuery, 'plan'> & { readonly after?: string; readonly type?: TopicType } & Partial<
      Pick<PageQuery, 'size' | 'bytesMax'>
    >,
  cancellation: Cancellation = waiting,
): Promise<{ readonly items: readonly { path: string; type: string; value?: unknown }[]; readonly hasMore: boolean }> {
  const { plan, after, type = 'json', size = 1000, bytesMax = 2 ** 30 } = query
  const page = await store.readPage(
    { plan, form: storedForms[type], branches: undefined, after: after as Path | undefined, size, bytesMax },
    cancellation,
  )
  const text = page.buffer.subarray(page.start, page.end).toString()
  return { items: JSON.parse(`[${text}]`) as { path: string; type: string }[], hasMore: page.hasMore }
}

/** Blocks the event loop, as a slow matcher does. */
export function spin(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}
