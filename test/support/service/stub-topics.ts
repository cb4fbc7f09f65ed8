/**
 * Topics in a Map behind a stub: fetch by path, the writes with their constraints, and batches, as docs/api.md describes
 * them, for what a client makes of constraints and batches. Values are texts; properties are not kept.
 */
import { elementsOf, membersOf } from '../../../dist/client/json-slices.js'
import type { StubAnswer, StubRequest } from './stub.js'

/** The value's text by path; undefined for a topic without a value. */
type Topics = Map<string, string | undefined>

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

/** The answers of a service whose topics are those of the Map. */
export function stubTopics(topics: Topics): (request: StubRequest) => StubAnswer {
  return ({ path, text }) => {
    const route = path.replace('/topics/', '')
    let operation: number | undefined
    try {
      if (route !== 'batch') return { text: answerOf(topics, route, membersOf(text)) }
      const copy: Topics = new Map(topics)
      const results = elementsOf(membersOf(text).get('operations') ?? '').map((operationText, index) => {
        operation = index
        const members = membersOf(operationText)
        return answerOf(copy, textOf(members, 'op'), members)
      })
      topics.clear()
      for (const [path, value] of copy) topics.set(path, value)
      return { text: `{"results":[${results.join(',')}]}` }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return {
        status: error.status,
        text: JSON.stringify({ code: error.code, message: `It is ${error.code}.`, operation }),
      }
    }
  }
}

function textOf(members: Members, name: string): string {
  return String(JSON.parse(members.get(name) ?? '""'))
}

function answerOf(topics: Topics, route: string, members: Members): string {
  const path = textOf(members, 'path')
  const isThere = topics.has(path)
  const current = topics.get(path)
  if (!holds(membersOf(members.get('constraint') ?? '{}'), isThere, current)) {
    throw new Refusal(409, 'unsatisfied_constraint')
  }
  if (route === 'remove') {
    if (members.get('dry_run') !== 'true') topics.delete(path)
    return `{"removed":${isThere ? 1 : 0}}`
  }
  if (!isThere && (route === 'fetch' || route === 'set')) throw new Refusal(400, 'no_such_topic')
  const quoted = JSON.stringify(path)
  if (route === 'fetch') return `{"path":${quoted},"type":"json"${current === undefined ? '' : `,"value":${current}`}}`
  topics.set(path, route === 'add' ? current : members.get('value'))
  return route === 'set' ? `{"path":${quoted}}` : `{"path":${quoted},"created":${!isThere}}`
}

function holds(constraint: Members, isThere: boolean, current: string | undefined): boolean {
  if (constraint.has('no_topic')) return !isThere
  if (constraint.has('no_value')) return isThere && current === undefined
  return !constraint.has('value') || constraint.get('value') === current
}
