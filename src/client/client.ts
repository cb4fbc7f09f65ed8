/**
 * The client: one method for each operation on topics. Options are named after the members of the API's requests,
 * which docs/api.md describes; `signal` is extra. Methods throw a TopicdError for a response other than 200, unless they return undefined.
 *
 * connection.ts decides which requests are repeated. The comment on each write method states the effect of a repetition.
 */
import type { AddAnswer, CountAnswer, RefusedAnswer, RemoveAnswer, SetAnswer } from '../api/answers.js'
import type { AddAndSetBody, AddBody, IncrementBody, SetBody } from '../api/bodies/bodies.js'
import type { Properties, TopicType } from '../topics/topic.js'
import { Changes, type ChangesOptions } from './changes/changes.js'
import { LiveTopics } from './changes/live-topics.js'
import { LiveTree, type TreeOptions } from './changes/live-tree.js'
import { SharedStreams } from './changes/shared-stream.js'
import { type Child, childrenIn } from './child.js'
import { untilSatisfied } from './conflicts.js'
import { type Connection, type ConnectOptions, createConnection, type RequestOptions } from './connection.js'
import { TopicdError } from './error.js'
import { type Item, itemOf, itemsOf, type Page, pageOf } from './item.js'
import { elementsOf, membersOf } from './json-slices.js'
import { descendants, everything, segmentsOf } from './selectors.js'
import { type Uploaded, type UploadOptions, upload } from './upload.js'
import { controllerWithin } from './wait.js'
import type {
  Addend,
  BatchAnswers,
  CountOptions,
  GetOptions,
  Incremented,
  ListOptions,
  Operation,
  PageOptions,
  RemoveMatchesOptions,
  RemoveOptions,
  Versioned,
  VersionOptions,
  WriteOptions,
} from './wire.js'

export interface UpdateOptions extends RequestOptions {
  /** The topic's type; json by default. */
  readonly type?: TopicType | undefined
  /** The properties of the topic, if it is created. */
  readonly properties?: Properties | undefined
  /** The time to live of the topic, if it is created. */
  readonly ttl?: string | undefined
  /** Maximum attempts if other writers keep changing the topic; 16 by default. */
  readonly attemptsMax?: number | undefined
}

/** Default page size of a walk: few round trips, and pages that are still small. */
const walkSizeDefault = 100

/**
 * Creates a client of the service at this URL. It sends nothing until you call a method, and need not be closed.
 *
 * @param url the service's URL, including its base path if it has one, such as http://127.0.0.1:8080
 * @throws TypeError if the key is missing or invalid, or if `url` is not an http or https URL with only a host, a port
 *   and a path; RangeError if `timeoutMs` is less than 1 or exceeds the maximum delay of a timer
 */
export function connect(url: string, options: ConnectOptions): Client {
  return new Client(createConnection(url, options))
}

/** A client of one service. Create it with `connect`. */
export class Client {
  readonly #connection: Connection
  readonly #streams: SharedStreams

  constructor(connection: Connection) {
    this.#connection = connection
    this.#streams = new SharedStreams(connection)
  }

  /** Fetches a topic of `type`, json by default. @returns undefined if there is no topic of that type at this path */
  get(path: string, options: GetOptions = {}): Promise<Item | undefined> {
    return unless(['no_such_topic', 'incompatible_type'], this.#fetch({ ...options, path }, itemOf))
  }

  /** Fetches each path as `get` does, in the order of `paths`. The result is a snapshot if it fits into one response. */
  async getMany(paths: readonly string[], options: GetOptions = {}): Promise<readonly (Item | undefined)[]> {
    const items: (Item | undefined)[] = []
    while (items.length < paths.length)
      items.push(...(await this.#fetch({ ...options, paths: paths.slice(items.length) }, itemsOf)))
    return items
  }

  /** Sets the value of an existing topic. */
  set<Shown extends boolean = false>(
    path: string,
    value: unknown,
    options: WriteOptions<SetBody, Shown> = {},
  ): Promise<Versioned<SetAnswer, Shown>> {
    return this.#write('set', { ...options, path, value })
  }

  /** Adds to an existing number, exactly. The increment is never sent twice: if the connection is lost, the outcome is unknown. */
  increment<Shown extends boolean = false>(
    path: string,
    increment: Addend,
    options: WriteOptions<Pick<IncrementBody, 'constraint'>, Shown> = {},
  ): Promise<Versioned<Incremented, Shown>> {
    return this.#write('set', { ...options, path, increment })
  }

  /** Sets a topic's value and creates the topic if it is missing. If the request was repeated, `created` may be false. */
  addAndSet<Shown extends boolean = false>(
    path: string,
    value: unknown,
    options: WriteOptions<AddAndSetBody, Shown> = {},
  ): Promise<Versioned<AddAnswer, Shown>> {
    return this.#write('addAndSet', { ...options, path, value })
  }

  /** Creates a topic without a value if it is missing. If the request was repeated, `created` may be false. */
  add<Shown extends boolean = false>(
    path: string,
    options: WriteOptions<AddBody, Shown> = {},
  ): Promise<Versioned<AddAnswer, Shown>> {
    return this.#write('add', { ...options, path })
  }

  /** Removes the topic at this path, but not its descendants. If the request was repeated, `removed` may be 0. */
  remove(path: string, options: RemoveOptions = {}): Promise<RemoveAnswer> {
    return this.#write('remove', { ...options, path })
  }

  /** Removes every topic that the selector matches, of either type. If the request was repeated, `removed` may be too low. */
  removeMatches(selector: string, options: RemoveMatchesOptions = {}): Promise<RemoveAnswer> {
    return this.#write('remove', { ...options, selector })
  }

  /**
   * Applies all operations in order, in one commit, or none of them. The batch is never sent twice: if the connection is
   * lost, the outcome is unknown.
   *
   * @throws TopicdError whose `operation` is the index of the first rejected operation
   */
  batch<const Operations extends readonly Operation[], Shown extends boolean = false>(
    operations: Operations,
    options: VersionOptions<Shown> = {},
  ): Promise<BatchAnswers<Operations, Shown>> {
    return this.#batch({ ...options, operations })
  }

  /** Applies each operation independently, in order, in one commit. The batch is never sent twice. @returns one result per operation */
  batchEach<const Operations extends readonly Operation[], Shown extends boolean = false>(
    operations: Operations,
    options: VersionOptions<Shown> = {},
  ): Promise<BatchAnswers<Operations, Shown, RefusedAnswer>> {
    return this.#batch({ ...options, operations, atomic: false })
  }

  /**
   * Applies any number of operations, each independently and in order. They are sent in chunks as `operations` produces them,
   * so they need not fit in memory, and each chunk is durable before the next is sent. No operation is sent twice. If a lost
   * connection ends the upload, up to one chunk after the last reported progress may have been applied.
   *
   * @returns the numbers of applied and rejected operations; `onRefused` receives each rejection
   */
  upload(operations: Iterable<Operation> | AsyncIterable<Operation>, options: UploadOptions = {}): Promise<Uploaded> {
    return upload(this.#connection, operations, options)
  }

  /** Fetches one page of the topics that the selector matches. To continue, pass its last path as `after`. */
  page(selector: string, options: PageOptions = {}): Promise<Page> {
    return this.#fetch({ ...options, selector }, pageOf)
  }

  /** Counts the matching topics of `type`, json by default. */
  count(selector: string, { signal, type }: CountOptions = {}): Promise<number> {
    return this.#fetch({ selector, type, count: true, signal }, (text) => objectOf<CountAnswer>(text).count)
  }

  /**
   * Iterates over all topics that the selector matches, in tree order, fetching `size` topics at a time, by default 100.
   * The walk is not a snapshot, but a topic that exists throughout is returned exactly once.
   */
  async *walk(selector: string, options: PageOptions = {}): AsyncGenerator<Item, void, undefined> {
    const { size = walkSizeDefault } = options
    for (let after = options.after; ; ) {
      const { results, has_more } = await this.page(selector, { ...options, size, after })
      yield* results
      if (!has_more) return
      after = results.at(-1)?.path
    }
  }

  /** Lists the children of a path, or the top of the tree, in tree order. Each child costs two seeks, however large its subtree. */
  async *list(path = '', options: ListOptions = {}): AsyncGenerator<Child, void, undefined> {
    const level = path === '' ? 1 : segmentsOf(path).length + 1
    const after = options.after && segmentsOf(options.after).join('/')
    const items = this.walk(path === '' ? everything : descendants(path), {
      ...options,
      type: 'any',
      with_values: false,
      deep_branch_depth: level,
      deep_branch_limit: 2,
    })
    // The first results may be descendants of `after` itself.
    for await (const child of childrenIn(items, level)) if (child.path !== after) yield child
  }

  /**
   * Replaces a topic's value with the result of `change`, and creates the topic if it is missing. If another writer changes
   * the topic in the meantime, calls `change` again with the new state. The write depends on the version, so the old value is not sent.
   *
   * @param change receives the topic with its version, or undefined if the topic is missing; if `change` returns undefined,
   *   nothing is written
   * @returns the write's response, including `version` and whether the topic was `created`; undefined if nothing was written
   * @throws TopicdError `unsatisfied_constraint` if other writers interfered `attemptsMax` times. If the connection is
   *   lost, the outcome is unknown.
   */
  update(
    path: string,
    change: (item: Item | undefined) => unknown,
    { type, properties, ttl, attemptsMax, signal }: UpdateOptions = {},
  ): Promise<Versioned<AddAnswer> | undefined> {
    const asked = { type, with_version: true, signal } as const
    const attempt = async (): Promise<Versioned<AddAnswer> | undefined> => {
      const item = await unless(['no_such_topic'], this.#fetch({ path, ...asked }, itemOf))
      const value = await change(item)
      if (value === undefined) return undefined
      if (item === undefined)
        return this.addAndSet(path, value, { ...asked, properties, ttl, constraint: { no_topic: true } })
      const answer = await this.set(path, value, { ...asked, constraint: { version: item.version as number } })
      return { ...answer, created: false }
    }
    return untilSatisfied(attempt, attemptsMax, signal)
  }

  /** Iterates over the current state (skipped if `since` is given), then over each change. Only the signal or a rejection ends it. */
  changes(selector: string, { signal, since, ...members }: ChangesOptions = {}): Changes {
    return new Changes(this.#streams, { selector, ...members }, since, signal)
  }

  /** Follows the selector's matches in a Map that stays up to date until you close it. */
  follow(selector: string, { signal, ...members }: Omit<ChangesOptions, 'since'> = {}): LiveTopics {
    const controller = controllerWithin(signal)
    const changes = this.changes(selector, { ...members, signal: controller.signal })
    return new LiveTopics(changes, controller, this.#connection.timeoutMs)
  }

  /** Follows the names below a path, or in the whole tree, for a tree view: each level that you open stays up to date until `close`. */
  followTree(path = '', { size, signal }: TreeOptions = {}): LiveTree {
    return new LiveTree(this, path, controllerWithin(signal), size)
  }

  /** During an outage, lets every `follow` and `changes` reconnect immediately. Call it when you know the service is back. */
  retry(): void {
    this.#streams.retry()
  }

  #fetch<Result>({ signal, ...members }: Asked, read: (text: string) => Result): Promise<Result> {
    return this.#connection.post('fetch', members, { signal, isRepeatable: true, read })
  }

  #batch<Results>({ signal, ...members }: Asked & { readonly operations: readonly Operation[] }): Promise<Results> {
    const read = (text: string) => {
      const results = elementsOf(membersOf(text).get('results') ?? '').map(objectOf)
      if (results.length !== members.operations.length) throw new SyntaxError('not exactly one result per operation')
      return results as Results
    }
    return this.#connection.post('batch', members, { signal, isRepeatable: false, read })
  }

  /** Does not repeat an increment, nor a write whose constraint the first attempt may have made false. */
  #write<Answer>(route: string, { signal, ...members }: Asked): Promise<Answer> {
    const isRepeatable = members.constraint === undefined && members.increment === undefined
    return this.#connection.post(route, members, { signal, isRepeatable, read: objectOf<Answer> })
  }
}

/** The members of a request, and the signal, which is not sent. */
type Asked = RequestOptions & { readonly [name: string]: unknown }

/** Resolves to undefined if the request is rejected with one of these codes. */
async function unless<Result>(codes: readonly string[], request: Promise<Result>): Promise<Result | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof TopicdError && codes.includes(error.code)) return undefined
    throw error
  }
}

/** Parses a response and adds the exact text of its value. @throws SyntaxError if `text` is not a JSON object */
function objectOf<Answer>(text: string): Answer {
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new SyntaxError('not an object')
  return ('value' in parsed ? { ...parsed, text: membersOf(text).get('value') } : parsed) as Answer
}
