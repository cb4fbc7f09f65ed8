/**
 * The guarantees of the store interface, tested on each engine directly: random operations compared with the model (SEED=… replays them,
 * STEPS=… runs more), concurrent writes of one topic, pages to the byte, automatic removal, API keys, walks and checks.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { outcomeText } from '../../dist/api/operations.js'
import { Cancelled } from '../../dist/base/cancellation.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { isRefusal, onlyOutcome } from '../../dist/store/core/write/batch.js'
import type { Finding } from '../../dist/store/maintenance.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import {
  type PageQuery,
  storedForms,
  type Versioned,
  type WriteOutcome,
  type WriteRefusal,
} from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties, TopicType } from '../../dist/topics/topic.js'
import { at } from '../support/elements.js'
import { itemsOf, type Members, Model, matcherOf } from '../support/models/model.js'
import { seededRandom } from '../support/random.js'
import { until } from '../support/service/server.js'
import { creation, planned, single, spin, versionShown, waiting, watched } from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const valueText = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())

  /** A topic's item as text, or the reason why it has none. */
  async function read(path: string, type: TopicType = 'json'): Promise<string> {
    const found = await store.readTopic(path as Path, storedForms[type])
    return typeof found === 'string' ? found : Buffer.from(found).toString()
  }

  interface PageOptions {
    readonly type?: TopicType
    readonly size?: number
    readonly bytesMax?: number
    readonly after?: string
  }

  function pageQuery(
    selector: string,
    { type = 'json', size = 1000, bytesMax = 2 ** 30, after }: PageOptions,
  ): PageQuery {
    const form = storedForms[type]
    return { plan: planned(selector), form, branches: undefined, after: after as Path | undefined, size, bytesMax }
  }

  async function page(
    selector: string,
    options: PageOptions = {},
  ): Promise<{ readonly text: string; readonly hasMore: boolean }> {
    const { buffer, start, end, hasMore } = await store.readPage(pageQuery(selector, options), waiting)
    return { text: buffer.subarray(start, end).toString(), hasMore }
  }

  async function clear(): Promise<void> {
    await store.removeMatches(planned('*.*'), waiting)
  }

  await t.test('random operations give the same results as the model', (t) => againstModel(t, store, read, page))
  await clear()

  await t.test('concurrent writes to one path take effect one at a time', async (t) => {
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) => single.addAndSet(store, creation('hot'), valueText(i))),
    )
    t.equal(outcomes.filter((outcome) => outcome === 'created').length, 1, 'one creates')
    t.equal(outcomes.filter((outcome) => outcome === 'updated').length, 199, 'the others update')
    const sets = await Promise.all(
      Array.from({ length: 200 }, (_, i) => single.set(store, 'hot' as Path, 'json', valueText(i))),
    )
    t.strictSame(new Set(sets), new Set(['set']), 'each set finds the topic')
    t.match(await read('hot'), /^{"path":"hot","type":"json","value":\d+}$/, 'one of the values remains')
    const removals = await Promise.all(Array.from({ length: 50 }, () => single.remove(store, 'hot' as Path)))
    t.equal(removals.filter(Boolean).length, 1, 'one removes')
    const adds = await Promise.all(
      Array.from({ length: 50 }, (_, i) => single.add(store, creation('hot', i % 2 === 0 ? 'json' : 'string'))),
    )
    t.equal(adds.filter((outcome) => outcome === 'created').length, 1, 'one adds')
    const mixed = await Promise.all([
      single.set(store, 'hot' as Path, 'json', valueText(1)),
      single.set(store, 'hot' as Path, 'string', valueText('1')),
      single.addAndSet(store, creation('hot', 'string'), valueText('2')),
      single.addAndSet(store, creation('hot', 'json'), valueText(2)),
    ])
    t.strictSame(
      mixed,
      ['set', 'incompatible_type', 'incompatible_type', 'updated'],
      'the wrong type is rejected among concurrent writes of the right one',
    )
  })

  await t.test('each concurrent write has its own version, and the topic has that of the last write', async (t) => {
    const set = { kind: 'set', path: 'hot' as Path, type: 'json', wantsVersion: true } as const
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => store.write([{ ...set, valueText: valueText(i) }])),
    )
    const versions = results.map((result) => (onlyOutcome(result) as Versioned).change.version)
    t.equal(new Set(versions).size, 200)
    const last = Math.max(...versions)
    t.equal(await versionShown(store, 'hot'), last)
    t.match(await read('hot'), `"value":${versions.indexOf(last)}}`)
  })

  await t.test('an update may repeat or omit properties, and others are rejected as incompatible', async (t) => {
    const write = (properties: Properties) =>
      single.addAndSet(store, creation('props', 'json', properties), valueText(properties))
    t.equal(await write({ colour: 'red', VALIDATE_VALUES: 'true' }), 'created')
    const same: readonly Properties[] = [
      { VALIDATE_VALUES: 'true', colour: 'red' },
      { colour: 'red' },
      { DONT_RETAIN_VALUE: 'false' },
      {},
    ]
    for (const properties of same) t.equal(await write(properties), 'updated', JSON.stringify(properties))
    const other: readonly Properties[] = [
      { colour: 'blue' },
      { VALIDATE_VALUES: 'false' },
      { DONT_RETAIN_VALUE: 'true' },
      { shape: 'round' },
    ]
    for (const properties of other) t.equal(await write(properties), 'incompatible_properties')
    t.equal(await read('props'), '{"path":"props","type":"json","value":{}}', 'incompatible updates change nothing')
    const many = await Promise.all(Array.from({ length: 60 }, (_, i) => write(at(same, i % 2))))
    t.strictSame(new Set(many), new Set(['updated']), 'many concurrent updates in two of these forms')
  })

  await t.test('a topic that retains no values has no value after any write', async (t) => {
    t.equal(
      await single.addAndSet(store, creation('none', 'json', { DONT_RETAIN_VALUE: 'true' }), valueText(1)),
      'created',
    )
    t.equal(await single.set(store, 'none' as Path, 'json', valueText(2)), 'set')
    t.equal(await single.addAndSet(store, creation('none'), valueText(3)), 'updated')
    t.equal(await read('none'), '{"path":"none","type":"json"}')
  })

  await clear()
  await t.test('a rejected batch that would remove a topic does not change how later writes treat it', async (t) => {
    const path = 'kept' as Path
    await single.addAndSet(store, creation(path, 'json', { DONT_RETAIN_VALUE: 'true' }), valueText(1))
    // The writes share a commit.
    const outcomes = await Promise.all([
      store.write([
        { kind: 'remove', path, valueText: undefined },
        { kind: 'set', path: 'missing' as Path, type: 'json', valueText: valueText(1) },
      ]),
      single.addAndSet(store, creation(path, 'json', { DONT_RETAIN_VALUE: 'true' }), valueText(2)),
      single.set(store, path, 'json', valueText(3)),
    ])
    t.strictSame(outcomes, [{ index: 1, refusal: 'no_such_topic' }, 'updated', 'set'])
    t.equal(await read(path), '{"path":"kept","type":"json"}')
  })

  await t.test('a page has its first item and all further items that fit within its byte limit', async (t) => {
    for (const [path, length] of [
      ['b/1', 100],
      ['b/2', 200],
      ['b/3', 50],
      ['b/4', 50],
    ] as const) {
      await single.addAndSet(store, creation(path), valueText('x'.repeat(length)))
    }
    const items = (await page('*b//')).text
    const lengths = (JSON.parse(`[${items}]`) as object[]).map((item) => JSON.stringify(item).length)
    for (const selector of ['*b//', '?b/.', '#>b/1////>b/2////>b/3////>b/4', '*b/.*[1-4]']) {
      let bytes = -1
      for (const [index, length] of lengths.entries()) {
        bytes += length + 1
        const whole = { text: items.slice(0, bytes), hasMore: index < lengths.length - 1 }
        t.strictSame(await page(selector, { bytesMax: bytes }), whole, `${selector}: ${index + 1} fit exactly`)
        const less = index === 0 ? whole : { text: items.slice(0, bytes - length - 1), hasMore: true }
        t.strictSame(
          await page(selector, { bytesMax: bytes - 1 }),
          less,
          `${selector}: with one byte less, the last does not fit`,
        )
      }
    }
  })

  await t.test('one page can span many key ranges', async (t) => {
    for (let i = 0; i < 40; i++)
      await single.addAndSet(store, creation(`r/${String(i).padStart(2, '0')}/x`), valueText(i))
    const selector = `#${Array.from({ length: 40 }, (_, i) => `>r/${String(i).padStart(2, '0')}/x`).join('////')}`
    const paths = ({ text }: { text: string }): string[] =>
      (JSON.parse(`[${text}]`) as { path: string }[]).map((item) => item.path)
    t.equal(paths(await page(selector)).length, 40, 'all results')
    t.strictSame(paths(await page(selector, { size: 12, after: 'r/20/x' }))[11], 'r/32/x', 'continued from the middle')
    t.equal((await page(selector, { size: 40 })).hasMore, false, 'a page as large as the result')
    t.equal((await page(selector, { size: 39 })).hasMore, true, 'a page one item smaller')
  })

  await t.test('a cancelled read returns nothing, and a cancelled removal removes nothing', async (t) => {
    const gone = { aborted: true }
    const query = pageQuery('*.*nothing.*', { size: 10, bytesMax: 1000 })
    await Promise.all(Array.from({ length: 1000 }, (_, i) => single.addAndSet(store, creation(`c/${i}`), valueText(i))))
    const isCancelled = (reason: unknown): boolean => reason instanceof Cancelled
    const slow = watched(query.plan, () => spin(0.05))
    const readPage = async (): Promise<unknown> => store.readPage({ ...query, plan: slow }, gone)
    t.ok(await readPage().then(() => false, isCancelled), 'a scan')
    t.ok(await store.removeMatches(planned('*c//'), gone).then(() => false, isCancelled), 'a removal')
    t.ok(await store.countMatches(planned('*c//'), 'any', gone).then(() => false, isCancelled), 'a count')
    t.match(await read('c/0'), /value/, 'nothing was removed')
  })

  await t.test('a bulk removal removes every match of either type and nothing else', async (t) => {
    await clear()
    const paths = Array.from({ length: 1500 }, (_, i) => `m/${i % 3}/${i}`)
    await Promise.all(
      paths.map((path, i) => single.addAndSet(store, creation(path, i % 2 === 0 ? 'json' : 'string'), valueText('x'))),
    )
    t.equal(await store.countMatches(planned('*m/1//'), 'any', waiting), 500, 'a subtree is counted')
    t.equal(await store.countMatches(planned('*m//'), 'string', waiting), 750, 'a type is counted')
    t.equal(await store.countMatches(planned('*m//'), 'any', waiting), 1500, 'a count removes nothing')
    t.equal(await store.removeMatches(planned('*m/1//'), waiting), 500, 'a subtree')
    t.equal(await store.removeMatches(planned('?m/0/.*[05]'), waiting), 100, 'the matches of a pattern')
    t.equal(await store.removeMatches(planned('*m//'), waiting), 900, 'the rest')
    t.equal(await store.removeMatches(planned('*.*'), waiting), 0, 'nothing is left')
  })

  await t.test('a walk returns every topic in full, in tree order', async (t) => {
    const properties = { colour: 'red', REMOVAL: 'when no updates for 30d' }
    await single.addAndSet(store, creation('w', 'json', properties), valueText(1))
    await single.add(store, creation('w/none'))
    await single.addAndSet(store, creation('w/text', 'string'), valueText('é'))
    await single.addAndSet(store, creation('w-x'), valueText([1]))
    const topics: unknown[] = []
    for await (const { path, type, properties, valueText } of store.walk(planned('*.*'), waiting)) {
      topics.push([path, type, properties, valueText && Buffer.from(valueText).toString()])
    }
    t.strictSame(topics, [
      ['w', 'json', properties, '1'],
      ['w/none', 'json', {}, undefined],
      ['w/text', 'string', {}, '"é"'],
      ['w-x', 'json', {}, '[1]'],
    ])
  })

  await t.test('due topics are removed, and a remove clause is executed once', async (t) => {
    await clear()
    const policies: Readonly<Record<string, string>> = {
      idle: 'when no updates for 1s',
      past: 'when time after 5',
      later: 'when time after 4102444800000',
      clause: "when time after 5 remove '*swept//'",
    }
    await single.addAndSet(store, creation('swept/1'), valueText(1))
    for (const [path, REMOVAL] of Object.entries(policies))
      await single.addAndSet(store, creation(path, 'json', { REMOVAL }), valueText(1))
    const addedMs = Date.now()
    await until('the topic `idle` is due', async () => Date.now() - addedMs > 1000 || undefined)
    const updatedMs = Date.now()
    t.equal(await single.set(store, 'idle' as Path, 'json', valueText(2)), 'set', 'updated before a sweep')
    const sweepAll = (): Promise<true> =>
      until('only the policy of `later` is left', async () => {
        const { nextMs } = await store.removeDue(planSelector)
        return nextMs === 4102444800001 || undefined
      })
    await sweepAll()
    const tookMs = Date.now() - updatedMs
    t.ok(tookMs >= 1000, `the update defers the removal, which follows ${tookMs} ms later`)
    for (const path of ['idle', 'past', 'swept/1']) t.equal(await read(path), 'no_such_topic', path)
    for (const path of ['later', 'clause']) t.match(await read(path), /"value":1/, path)
    await single.addAndSet(store, creation('swept/1'), valueText(1))
    await sweepAll()
    t.equal(await read('swept/1'), '{"path":"swept/1","type":"json","value":1}', 'the clause is not executed again')
  })

  await t.test('each change of API keys takes effect once and creates a new revision of the keys', async (t) => {
    const record = (name: string, tokenHash = name): KeyRecord => ({
      name,
      tokenHash,
      allow: ['set'],
      under: ['a/é' as Path],
      madeMs: 5,
    })
    const revisions = [await store.keysRevision()]
    t.equal(await store.addKey(record('one')), 'added')
    revisions.push(await store.keysRevision())
    t.equal(await store.addKey({ ...record('one'), allow: [] }), 'added', 'repeated')
    t.equal(await store.addKey(record('one', 'other')), 'name_taken')
    t.equal(await store.addKey(record('other', 'one')), 'token_taken')
    t.strictSame(
      [await store.readKeys(), await store.keysRevision()],
      [[record('one')], revisions[1]],
      'a rejected key changes nothing',
    )
    await store.restoreKey(record('one', 'restored'))
    revisions.push(await store.keysRevision())
    t.strictSame(await store.readKeys(), [record('one', 'restored')])
    await store.touchKeys(
      new Map([
        ['one', 7],
        ['nobody', 8],
      ]),
    )
    await store.touchKeys(new Map([['one', 6]]))
    t.strictSame([...(await store.keyUses())], [['one', 7]], 'only existing keys, each with its latest use')
    t.equal(await store.keysRevision(), revisions[2], 'a use does not change the revision')
    t.equal(await store.revokeKey('one'), true)
    revisions.push(await store.keysRevision())
    t.equal(await store.revokeKey('one'), false)
    t.strictSame([await store.readKeys(), [...(await store.keyUses())]], [[], []])
    t.equal(new Set(revisions).size, 4, 'each change has its own revision')
  })

  await t.test('a rotation changes only the token of a key and can be repeated', async (t) => {
    const record: KeyRecord = {
      name: 'turned',
      tokenHash: 'one',
      allow: ['set'],
      under: ['a' as Path],
      madeMs: 5,
      expiresMs: 2e12,
      rate: 7,
    }
    const name = 'turned'
    await store.addKey(record)
    const revision = await store.keysRevision()
    const second = { name, formerHash: 'one', formerUntilMs: 1e12, tokenHash: 'two' }
    t.equal(await store.rotateKey(second), true)
    const rotated = { ...record, tokenHash: 'two', former: { tokenHash: 'one', untilMs: 1e12 } }
    t.strictSame(await store.readKeys(), [rotated])
    t.not(await store.keysRevision(), revision, 'a new revision')
    t.equal(await store.rotateKey(second), true, 'repeated')
    t.equal(await store.addKey(record), 'added', 'the original record counts as added')
    t.equal(await store.addKey({ ...record, name: 'other' }), 'token_taken', 'the former token is also taken')
    t.strictSame(await store.readKeys(), [rotated], 'the additions change nothing')
    const late = { name, formerHash: 'one', tokenHash: 'other' }
    const current = await store.keysRevision()
    t.equal(await store.rotateKey(late), false, 'the key has a different token')
    t.equal(await store.rotateKey({ ...late, name: 'nobody' }), false, 'there is no such key')
    t.strictSame([await store.readKeys(), await store.keysRevision()], [[rotated], current], 'failures change nothing')
    t.equal(await store.rotateKey({ name, formerHash: 'two', tokenHash: 'three' }), true)
    t.strictSame(await store.readKeys(), [{ ...record, tokenHash: 'three' }], 'no grace period, no former token')
    t.equal(await store.revokeKey(name), true)
    t.equal(await store.rotateKey({ name, formerHash: 'three', tokenHash: 'four' }), false, 'a revoked key')
    t.strictSame(await store.readKeys(), [])
  })

  await t.test('exactly one of several concurrent additions of a name or token succeeds', async (t) => {
    const add = (name: string, tokenHash: string) => store.addKey({ name, tokenHash, allow: [], under: [], madeMs: 1 })
    const additions = [add('a', 'one'), add('a', 'two'), add('c', 'one'), add('b', 'three'), add('a', 'one')]
    t.strictSame(await Promise.all(additions), ['added', 'name_taken', 'token_taken', 'added', 'added'])
    for (const name of ['a', 'b']) await store.revokeKey(name)
  })

  await t.test('exactly one of several concurrent rotations succeeds, and a revoked key stays revoked', async (t) => {
    for (let round = 0; round < 20; round++) {
      const name = `contested-${round}`
      await store.addKey({ name, tokenHash: 'first', allow: [], under: [], madeMs: 1 })
      const rotations = Array.from({ length: 8 }, (_, i) =>
        store.rotateKey({ name, formerHash: 'first', formerUntilMs: 1e12, tokenHash: `token-${i}` }),
      )
      const revoked = round % 2 === 0 ? await store.revokeKey(name) : undefined
      const successes = (await Promise.all(rotations)).flatMap((isRotated, i) => (isRotated ? [`token-${i}`] : []))
      const left = (await store.readKeys()).map(({ tokenHash }) => tokenHash)
      if (revoked === undefined) t.strictSame([left, left.length], [successes, 1], 'the winner sets the token')
      else t.strictSame([revoked, left], [true, []], `revoked alongside ${successes.length} rotations`)
      await store.revokeKey(name)
    }
  })

  await t.test('each write is counted once it is durable', async (t) => {
    const { commits } = store
    const before = [commits?.writes ?? 0, commits?.batches.read().sum ?? 0]
    await Promise.all([1, 2, 3].map((i) => single.addAndSet(store, creation(`counted/${i}`), Buffer.from('1'))))
    t.strictSame([commits?.writes, commits?.batches.read().sum], [(before[0] ?? 0) + 3, (before[1] ?? 0) + 3])
    t.match(commits, { inFlight: 0, failed: 0 })
  })

  await t.test('a check finds no damage after the writes of the tests above', async (t) => {
    const findings: Finding[] = []
    const { records } = await store.check((finding) => findings.push(finding), planSelector)
    t.strictSame(findings, [])
    t.ok(records > 0)
    const { topics, bytes } = await store.stats()
    t.ok(topics > 0 && bytes > 0, `${topics} topics in ${bytes} bytes`)
  })
})

/** The route's response to a write with this outcome. */
function answerOf(path: string, outcome: WriteOutcome | WriteRefusal): string {
  return isRefusal(outcome) ? outcome : outcomeText(path, outcome)
}

/** Executes random operations and compares each result with the model's. */
async function againstModel(
  t: Test,
  store: TopicStore,
  read: (path: string, type?: TopicType) => Promise<string>,
  page: (
    selector: string,
    options: { size: number; type: TopicType; after?: string },
  ) => Promise<{ text: string; hasMore: boolean }>,
): Promise<void> {
  const random = seededRandom(t)
  const model = new Model()
  const expected = (route: string, members: Members): string => {
    const answer = model.perform(route, members)
    return answer.status === 200 ? answer.text : answer.code
  }
  const paths = ['a', 'a/b', 'a/b/c', 'a/c', 'a-b', 'a-b/c', 'b', 'b/é', 'b/é/x', 'c c/d']
  const selectors = ['*a//', '*.*', '?a/.*', '*.*c', '?.*/', '#>a////*b//', '>a/b', '*[ab].*']
  const steps = Number(process.env.STEPS ?? 600)
  for (let step = 0; step < steps; step++) {
    const path = random.pick(paths)
    const type = random.pick(['json', 'string'] as const)
    const value = type === 'json' ? String(random.below(1000)) : `"${random.below(1000)}"`
    const text = Buffer.from(value)
    const selector = random.pick(selectors)
    const plan = planned(selector)
    const size = 1 + random.below(5)
    const after = random.oneIn(2) ? { after: path } : {}
    const matching = (type: 'any' | TopicType) => itemsOf(model.topics, matcherOf(selector), { type }).length
    const works = {
      add: async () => [answerOf(path, await single.add(store, creation(path, type))), expected('add', { path, type })],
      set: async () => [
        answerOf(path, await single.set(store, path as Path, type, text)),
        expected('set', { path, type, value }),
      ],
      addAndSet: async () => [
        answerOf(path, await single.addAndSet(store, creation(path, type), text)),
        expected('addAndSet', { path, type, value }),
      ],
      remove: async () => [
        `{"removed":${Number(await single.remove(store, path as Path))}}`,
        expected('remove', { path }),
      ],
      read: async () => [await read(path, type), expected('fetch', { path, type })],
      page: async () => {
        const { text, hasMore } = await page(selector, { size, type, ...after })
        return [`{"has_more":${hasMore},"results":[${text}]}`, expected('fetch', { selector, size, type, ...after })]
      },
      count: async () => [
        [await store.countMatches(plan, 'any', waiting), await store.countMatches(plan, type, waiting)],
        [matching('any'), matching(type)],
      ],
      removeMatches: async () => [
        `{"removed":${await store.removeMatches(plan, waiting)}}`,
        expected('remove', { selector }),
      ],
    }
    // Removals by selector are rare; otherwise the tree would never grow.
    const common = ['add', 'set', 'addAndSet', 'addAndSet', 'remove', 'read', 'page', 'page'] as const
    const work = random.oneIn(40) ? random.pick(['count', 'removeMatches'] as const) : random.pick(common)
    const [found, wanted] = await works[work]()
    const name = `the same results of ${steps} operations: ${work} of ${path} or ${selector}`
    if (JSON.stringify(found) !== JSON.stringify(wanted)) return void t.strictSame(found, wanted, name)
  }
  t.pass(`the same results of ${steps} operations`)
}
