/**
 * A model of the service that is as simple as possible: a Map, a sort and a filter. It shares no code with the product,
 * in particular neither the key order nor the planning of selectors, so that the two can disagree.
 */
import { at } from '../elements.js'

export type TopicType = 'json' | 'string'

/** A request's members; a value is JSON text, so that each of its bytes can be compared. */
export interface Members {
  readonly path?: string
  readonly selector?: string
  /** A fetch also allows `any`. */
  readonly type?: TopicType | 'any'
  readonly value?: string
  readonly properties?: Readonly<Record<string, string>>
  readonly size?: number
  readonly after?: string
  readonly deep_branch_depth?: number
  readonly deep_branch_limit?: number
  readonly with_values?: boolean
  readonly with_properties?: boolean
  readonly with_version?: boolean
  /** Only for a write by path. */
  readonly constraint?: Condition
}

/** A value is JSON text. */
type Condition =
  | { readonly version: number }
  | { readonly value: string }
  | { readonly no_value: true }
  | { readonly no_topic: true }

/** The response that the service must return: the whole body of a 200, or the code of a rejection. */
export type Expected =
  | { readonly status: 200; readonly text: string }
  | { readonly status: 400 | 409; readonly code: string }

export interface Topic {
  readonly type: TopicType
  readonly properties: Readonly<Record<string, string>>
  value: string | undefined
  /** The version of the last change; undefined until the model has learnt it. */
  version: number | undefined
}

/** The defaults of the properties that have one. */
const propertyDefaults: Readonly<Record<string, string>> = { VALIDATE_VALUES: 'false', DONT_RETAIN_VALUE: 'false' }

/** The request's body, with the exact text of the value. */
export function bodyText(members: Members): string {
  const parts = Object.entries(members).map(([name, member]) =>
    name === 'value' ? `"value":${String(member)}` : `${JSON.stringify(name)}:${JSON.stringify(member)}`,
  )
  return `{${parts.join(',')}}`
}

/** Topic tree order: a topic, then its descendants, siblings by the bytes of their segment. */
export function treeOrder(a: string, b: string): number {
  const left = a.split('/')
  const right = b.split('/')
  for (const [i, segment] of left.slice(0, right.length).entries()) {
    const order = Buffer.compare(Buffer.from(segment), Buffer.from(at(right, i)))
    if (order !== 0) return order
  }
  return left.length - right.length
}

/** Whether a selector matches a path, by the specification and decisions, without any planning. */
export function matcherOf(selector: string): (path: string) => boolean {
  const [, kind, pattern, qualifier] = /^([#>?*]?)(.*?)(\/{0,2})$/s.exec(selector) as unknown as string[]
  if (kind === '#') {
    const members = selector.slice(1).split(/\/{4}(?!\/)/)
    const matchers = members.map(matcherOf)
    return (path) => matchers.some((matches) => matches(path))
  }
  const literal = trimmed(pattern ?? '')
  if (kind !== '?' && kind !== '*') return (path) => path === literal
  const matches = kind === '?' ? segmentMatcher(literal) : expressionOf(pattern ?? '')
  return (path) => {
    // With the qualifier `//`, the pattern is also tried as a path.
    if (kind === '*' && qualifier === '//' && (path === literal || path.startsWith(`${literal}/`))) return true
    return (qualifier !== '/' && matches(path)) || (qualifier !== '' && ancestors(path).some(matches))
  }
}

/** Whether a selector matches a path. */
export function selects(selector: string, path: string): boolean {
  return matcherOf(selector)(path)
}

export class Model {
  readonly topics = new Map<string, Topic>()
  /** Every version that the model has learnt, by the path of its topic, which may have been removed. */
  readonly versions = new Map<string, number[]>()

  /** A copy that changes independently. */
  copy(): Model {
    const copy = new Model()
    for (const [path, topic] of this.topics) copy.topics.set(path, { ...topic })
    for (const [path, versions] of this.versions) copy.versions.set(path, versions)
    return copy
  }

  /** The path of the topic that the last request has changed; undefined if it has changed no existing topic. */
  changed(): string | undefined {
    for (const [path, { version }] of this.topics) if (version === undefined) return path
    return undefined
  }

  /** Learns a version that the service has chosen. @returns why the version is wrong; undefined if it is correct */
  learn(path: string, version: number): string | undefined {
    const former = this.versions.get(path) ?? []
    const last = former.at(-1) ?? 0
    if (!Number.isSafeInteger(version)) return `${version} of ${path} is not a version`
    if (version <= last) return `${path} has the version ${version} after ${last}`
    this.versions.set(path, [...former, version])
    Object.assign(this.topics.get(path) ?? {}, { version })
    return undefined
  }

  /**
   * Applies the route and returns the expected response; the paths in `members` must be valid.
   *
   * @param version the version that the service has chosen for the change, if its response has one
   */
  perform(route: string, members: Members, version = Number.NaN): Expected {
    const path = trimmed(members.path ?? '')
    const { constraint } = members
    if (constraint !== undefined && !holds(constraint, this.topics.get(path))) {
      return { status: 409, code: 'unsatisfied_constraint' }
    }
    switch (route) {
      case 'fetch':
        return members.selector === undefined ? this.#fetch(path, members) : this.#fetchPage(members.selector, members)
      case 'set':
        return versioned(this.#set(path, members), members, version)
      case 'increment':
        return versioned(this.#increment(path, members), members, version)
      case 'add':
        return versioned(this.#add(path, members), members, this.topics.get(path)?.version ?? version)
      case 'addAndSet':
        return versioned(this.#addAndSet(path, members), members, version)
      case 'remove':
        return versioned(this.#remove(members), members, version)
      default:
        throw new Error(`the model has no route ${route}`)
    }
  }

  #fetch(path: string, members: Members): Expected {
    const topic = this.topics.get(path)
    if (topic === undefined) return refused('no_such_topic')
    return hasType(topic, members) ? given(item(path, topic, members)) : refused('incompatible_type')
  }

  #fetchPage(selector: string, members: Members): Expected {
    const items = itemsOf(this.topics, matcherOf(selector), members)
    const { size = 10 } = members
    return given(`{"has_more":${items.length > size},"results":[${items.slice(0, size).join(',')}]}`)
  }

  #set(path: string, { type = 'json', value }: Members): Expected {
    const topic = this.topics.get(path)
    if (topic === undefined) return refused('no_such_topic')
    if (topic.type !== type) return refused('incompatible_type')
    keep(topic, value)
    return given(`{"path":${JSON.stringify(path)}}`)
  }

  #increment(path: string, { type = 'json', value }: Members): Expected {
    const topic = this.topics.get(path)
    if (topic === undefined) return refused('no_such_topic')
    if (topic.type !== type) return refused('incompatible_type')
    const sum = Number(topic.value) + Number(value)
    if (topic.value === undefined || Number.isNaN(sum)) return refused('not_a_number')
    keep(topic, String(sum))
    return given(`{"path":${JSON.stringify(path)},"value":${sum}}`)
  }

  #add(path: string, { type = 'json', properties = {} }: Members): Expected {
    const created = !this.topics.has(path)
    if (created) this.topics.set(path, { type: type as TopicType, properties, value: undefined, version: undefined })
    return given(`{"path":${JSON.stringify(path)},"created":${created}}`)
  }

  #addAndSet(path: string, { type = 'json', value, properties = {} }: Members): Expected {
    const existing = this.topics.get(path)
    if (existing !== undefined && existing.type !== type) return refused('incompatible_type')
    if (existing !== undefined && !compatible(existing.properties, properties))
      return refused('incompatible_properties')
    const topic = existing ?? { type: type as TopicType, properties, value: undefined, version: undefined }
    keep(topic, value)
    this.topics.set(path, topic)
    return given(`{"path":${JSON.stringify(path)},"created":${existing === undefined}}`)
  }

  #remove({ path, selector }: Members): Expected {
    const matches = [...this.topics.keys()].filter(matcherOf(selector ?? `>${path}`))
    for (const match of matches) this.topics.delete(match)
    return given(`{"removed":${matches.length}}`)
  }
}

function given(text: string): Expected {
  return { status: 200, text }
}

/** Treats every space as white space between tokens. */
function holds(constraint: Condition, topic: Topic | undefined): boolean {
  if ('no_topic' in constraint) return topic === undefined
  if ('no_value' in constraint) return topic !== undefined && topic.value === undefined
  if ('version' in constraint) return topic?.version === constraint.version
  return topic?.value?.replaceAll(' ', '') === constraint.value.replaceAll(' ', '')
}

/** Adds the version to the response of a successful write, if the request asks for it and a topic exists or existed. */
function versioned(expected: Expected, { with_version = false }: Members, version: number): Expected {
  if (expected.status !== 200 || !with_version || expected.text === '{"removed":0}') return expected
  return given(`${expected.text.slice(0, -1)},"version":${version}}`)
}

function refused(code: string): Expected {
  return { status: 400, code }
}

/** The items of all matches after `after`, regardless of the page size. */
export function itemsOf(
  topics: ReadonlyMap<string, Topic>,
  matches: (path: string) => boolean,
  members: Members,
): string[] {
  const { deep_branch_depth: depth, deep_branch_limit: limit = 0, after } = members
  const taken = new Map<string, number>()
  return [...topics]
    .filter(([path, topic]) => hasType(topic, members) && matches(path))
    .sort(([a], [b]) => treeOrder(a, b))
    .filter(([path]) => {
      const segments = path.split('/')
      if (depth === undefined || segments.length < depth) return true
      const branch = segments.slice(0, depth).join('/')
      taken.set(branch, (taken.get(branch) ?? 0) + 1)
      return (taken.get(branch) ?? 0) <= limit
    })
    .filter(([path]) => after === undefined || treeOrder(path, trimmed(after)) > 0)
    .map(([path, topic]) => item(path, topic, members))
}

function hasType(topic: Topic, { type = 'json' }: Members): boolean {
  return type === 'any' || topic.type === type
}

function item(path: string, topic: Topic, members: Members): string {
  const { with_values = true, with_properties = false, with_version = false } = members
  const version = with_version ? versionMembers(topic.version) : ''
  const value = topic.value === undefined || !with_values ? '' : `,"value":${topic.value}`
  const properties = with_properties ? `,"properties":${JSON.stringify(topic.properties)}` : ''
  return `{"path":${JSON.stringify(path)},"type":"${topic.type}"${version}${value}${properties}}`
}

/** A version is the millisecond of its change × 1,024, plus a counter. */
function versionMembers(version = Number.NaN): string {
  return `,"version":${version},"updated":"${new Date(Math.floor(version / 1024)).toISOString()}"`
}

/** A value that is not retained is still a change. */
function keep(topic: Topic, value: string | undefined): void {
  topic.version = undefined
  if (topic.properties.DONT_RETAIN_VALUE !== 'true') topic.value = value
}

function compatible(existing: Readonly<Record<string, string>>, requested: Readonly<Record<string, string>>): boolean {
  return Object.entries(requested).every(([name, value]) => (existing[name] ?? propertyDefaults[name]) === value)
}

/** The path without one leading and one trailing slash. */
function trimmed(path: string): string {
  return path.replace(/^\//, '').replace(/\/$/, '')
}

/** The paths of all ancestors. */
function ancestors(path: string): string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, i) => segments.slice(0, i + 1).join('/'))
}

/** Matches a whole string; syntax that differs in RE2, quoting and case-insensitive letters, is translated here. */
function expressionOf(pattern: string): (text: string) => boolean {
  const source = pattern
    .replace(/\\Q(.*?)(\\E|$)/gs, (_, quoted: string) => quoted.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    .replace(/\(\?i:([a-z])\)/gi, (_, letter: string) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
  const expression = new RegExp(`^(?:${source})$`, 'su')
  return (text) => expression.test(text)
}

/** Matches one pattern per segment. */
function segmentMatcher(pattern: string): (path: string) => boolean {
  const matchers = pattern.split('/').map(expressionOf)
  return (path) => {
    const segments = path.split('/')
    return segments.length === matchers.length && matchers.every((matches, i) => matches(at(segments, i)))
  }
}
