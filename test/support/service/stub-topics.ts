/**
 * Topics in a Map behind a stub: fetch by path, the writes with their constraints, and batches, as docs/api.md describes
 * them, for what a client makes of constraints and batches. Values are texts; properties are not kept, nor when a topic was
 * updated.
 */
import { elementsOf, membersOf } from '../../../dist/client/json-slices.js'
import type { StubAnswer, StubRequest } from './stub.js'

interface StubTopic {
  /** Its text; undefined for a topic without a value. */
  readonly value: string | undefined
  /** That of its last change; undefined while the batch of that change goes on. */
  readonly version: number | undefined
}

type Topics = Map<string, StubTopic>

type Members = ReadonlyMap<string, string>

/** Refuses one operation. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code)
  }
}

/**
 * The answers of a service.
 *
 * @param values the topics that it has at first, by path: the text of each, undefined for one without a value
 */
export function stubTopics(
  values: ReadonlyMap<string, string | undefined> = new Map(),
): (request: StubRequest) => StubAnswer {
  let topics: Topics = new Map([...values].map(([path, value]) => [path, { value, version: undefined }]))
  let version = 0
  /** The topics with what was done to a copy of them, which gives each change its version. */
  const keep = (changed: Topics): void => {
    topics = new Map([...changed].map(([path, topic]) => [path, { ...topic, version: topic.version ?? ++version }]))
  }
  keep(topics)
  return ({ path, text }) => {
    const route = path.replace('/topics/', '')
    const copy: Topics = new Map(topics)
    let operation: number | undefined
    let answer: string
    try {
      if (route === 'batch') {
        const results = elementsOf(membersOf(text).get('operations') ?? '').map((operationText, index) => {
          operation = index
          const members = membersOf(operationText)
          return answerOf(copy, textOf(members, 'op'), members)
        })
        answer = `{"results":[${results.join(',')}]}`
      } else answer = answerOf(copy, route, membersOf(text))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return {
        status: error.status,
        text: JSON.stringify({ code: error.code, message: `It is ${error.code}.`, operation }),
      }
    }
    keep(copy)
    return { text: answer }
  }
}

function textOf(members: Members, name: string): string {
  return String(JSON.parse(members.get(name) ?? '""'))
}

function answerOf(topics: Topics, route: string, members: Members): string {
  const path = textOf(members, 'path')
  const topic = topics.get(path)
  if (!holds(membersOf(members.get('constraint') ?? '{}'), topic)) throw new Refusal(409, 'unsatisfied_constraint')
  if (route === 'remove') {
    if (members.get('dry_run') !== 'true') topics.delete(path)
    return `{"removed":${topic === undefined ? 0 : 1}}`
  }
  if (topic === undefined && (route === 'fetch' || route === 'set')) throw new Refusal(400, 'no_such_topic')
  const quoted = JSON.stringify(path)
  if (topic !== undefined && route === 'fetch') {
    const value = topic.value === undefined ? '' : `,"value":${topic.value}`
    const shown = members.get('with_version') === 'true' ? `,"version":${topic.version},"updated":"${updated}"` : ''
    return `{"path":${quoted},"type":"json"${shown}${value}}`
  }
  if (route !== 'add' || topic === undefined) topics.set(path, { value: members.get('value'), version: undefined })
  return route === 'set' ? `{"path":${quoted}}` : `{"path":${quoted},"created":${topic === undefined}}`
}

/** The same for every change: a client does nothing with it. */
const updated = '2026-11-24T16:04:05.123Z'

function holds(constraint: Members, topic: StubTopic | undefined): boolean {
  if (constraint.has('no_topic')) return topic === undefined
  if (constraint.has('no_value')) return topic !== undefined && topic.value === undefined
  if (constraint.has('version')) return topic?.version === Number(constraint.get('version'))
  return !constraint.has('value') || (topic !== undefined && constraint.get('value') === topic.value)
}
