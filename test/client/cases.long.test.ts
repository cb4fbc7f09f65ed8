/**
 * The cases of clients/cases.json, which define the common behaviour of all clients: the same calls return the same results.
 * The other clients run the same table (clients/python/tests/test_cases.py).
 *
 *     call, args        a method of the client or a function of the package, and its arguments; options are the last argument
 *     returns, fails    members of the result or error, null for missing members; an iterator's results as an array
 *     {"$text": T}      the JSON text T as a value       {"$last": M}  the member M of the previous result
 *     {"$any": TYPE}    any value of this type           then, becomes  steps after `follow`, and its topics after them
 */
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import * as client from '../../dist/client/index.js'
import { root } from '../support/documents.js'
import { everythingOf } from '../support/elements.js'
import { startServer, until } from '../support/service/server.js'

interface Step {
  readonly call: string
  readonly args: readonly unknown[]
  readonly options?: object
  readonly returns?: unknown
  readonly fails?: object
  readonly then?: readonly Step[]
  readonly becomes?: unknown
}

interface Case {
  readonly name: string
  readonly steps: readonly Step[]
}

const cases: readonly Case[] = JSON.parse(readFileSync(join(root, 'clients/cases.json'), 'utf8'))

/** The members that a step may have. */
const members = ['call', 'args', 'options', 'returns', 'fails', 'then', 'becomes']

/** The methods that only this client has. */
const ownMethods = ['constructor', 'followTree', 'retry']

const server = await startServer(t)
const topics = client.connect(server.url, { key: server.token })

type Call = (...args: readonly never[]) => unknown
const functions: Readonly<Record<string, unknown>> = { ...client }

/** Calls to methods that return more than a promise or take more than JSON. */
const special: Readonly<Record<string, Call>> = {
  walk: (...args: Parameters<client.Client['walk']>) => everythingOf(topics.walk(...args)),
  list: (...args: Parameters<client.Client['list']>) => everythingOf(topics.list(...args)),
  update: (path: string, by: number | null, options: client.UpdateOptions) =>
    topics.update(path, (item) => (by === null ? undefined : Number(item?.value ?? 0) + by), options),
  upload: async (operations: readonly client.Operation[]) => {
    const refusals: client.Refusal[] = []
    return { ...(await topics.upload(operations, { onRefused: (refusal) => refusals.push(refusal) })), refusals }
  },
  changes: async (...args: Parameters<client.Client['changes']>) => {
    const found: client.Change[] = []
    const changes = topics.changes(...args)
    for await (const change of changes) {
      found.push(change)
      if (change.kind === 'complete') break
    }
    return { changes: found, next: changes.next }
  },
}

/** The text of each topic's value, by path. */
function textsOf(live: client.LiveTopics): Record<string, string | undefined> {
  return Object.fromEntries([...live.topics].map(([path, { text }]) => [path, text]))
}

async function follow({ args, then = [], becomes }: Step): Promise<unknown> {
  const live = topics.follow(...(args as Parameters<client.Client['follow']>))
  try {
    await live.ready
    const initial = textsOf(live)
    for (const step of then) await take(step, undefined)
    const isThere = async () => isDeepStrictEqual(textsOf(live), becomes) || undefined
    if (becomes !== undefined) await until('the followed topics', isThere)
    return initial
  } finally {
    live.close()
  }
}

/** An argument in this client's form. @param last the previous result */
function given(arg: unknown, last: unknown): unknown {
  if (typeof arg !== 'object' || arg === null) return arg
  if (Array.isArray(arg)) return arg.map((part) => given(part, last))
  if ('$text' in arg) return client.jsonText(String(arg.$text))
  if ('$last' in arg) return Reflect.get(last as object, String(arg.$last))
  return Object.fromEntries(Object.entries(arg).map(([name, part]) => [name, given(part, last)]))
}

function matches(found: unknown, expected: unknown): boolean {
  if (expected === null || expected === undefined) return found === undefined || found === null
  if (typeof expected !== 'object') return found === expected
  if (Array.isArray(expected))
    return (
      Array.isArray(found) && found.length === expected.length && expected.every((part, i) => matches(found[i], part))
    )
  if ('$any' in expected) return typeof found === expected.$any
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(expected).every(([name, part]) => matches(Reflect.get(found, name), part))
}

const called = new Set<string>()

/** @returns the result @throws AssertionError if it is not the expected one */
async function take(step: Step, last: unknown): Promise<unknown> {
  const { call, fails, returns } = step
  assert.deepEqual(
    Object.keys(step).filter((name) => !members.includes(name)),
    [],
    'known members',
  )
  assert.equal('returns' in step, !('fails' in step), 'either returns or fails')
  called.add(call)
  const sent = step.options === undefined ? step.args : [...step.args, step.options]
  const args = sent.map((arg) => given(arg, last)) as never[]
  const method = call in topics ? (Reflect.get(topics, call) as Call).bind(topics) : functions[call]
  assert(typeof method === 'function', `no method is called ${call}`)
  const run = async () => (call === 'follow' ? follow({ ...step, args }) : (special[call] ?? (method as Call))(...args))
  const outcome = await run().then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  )
  const what = `${call} ${JSON.stringify(sent)}`
  if (fails !== undefined) {
    assert('error' in outcome, `${what} did not fail`)
    assert(matches(outcome.error, fails), `${what}: ${outcome.error}`)
    return undefined
  }
  if ('error' in outcome) throw outcome.error
  assert(matches(outcome.result, returns), `${what}: ${JSON.stringify(outcome.result)}`)
  return outcome.result
}

for (const { name, steps } of cases) {
  t.test(name, async (t) => {
    await topics.removeMatches('?.*//')
    let last: unknown
    for (const step of steps) {
      last = await take(step, last)
      t.pass(step.call)
    }
  })
}

t.test('the cases call every method of the client and no other method', async (t) => {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(topics))
  t.strictSame(
    methods.filter((name) => !ownMethods.includes(name) && !called.has(name)),
    [],
  )
  await t.rejects(take({ call: 'move', args: [], returns: null }, undefined), /no method is called move/)
  await t.rejects(take({ call: 'count', args: ['*a'], returns: 7 }, undefined), /count \["\*a"\]: 0/, 'a wrong result')
})
