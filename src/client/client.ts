/**
 * The client: one method for each thing that can be done with topics. Options are the members of the API's request
 * bodies, by the same names, and `signal`; docs/api.md describes them. Answers other than 200 are thrown as
 * TopicdError.
 *
 * A request is repeated only as connection.ts says. So every method that writes says here what may happen twice.
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
  /** json by default. */
  readonly type?: TopicType | undefined
  /** The properties of a topic that is created. */
  readonly properties?: Properties | undefined
  /** Of a topic that is created. */
  readonly ttl?: string | undefined
  /** Maximum attempts while other writers come first; 16 by default. */
  readonly attemptsMax?: number | undefined
}

/** Results on a page of a walk when the caller gives no size: few round trips, and pages that are still small. */
const walkSizeDefault = 100

/**
 * A client of the service at this URL. Nothing is sent until a method is called, and nothing needs to be closed.
 *
 * @param url where the service is, with its base path if it has one, such as http://127.0.0.1:8080
 * @throws TypeError for a text that is not an http or https URL, or a key that no header can contain; RangeError for a
 *   `timeoutMs` that no timer can have
 */
export function connect(url: string, options: ConnectOptions): Client {
  return new Client(createConnection(url, options))
}

/** Made by `connect`. */
export class Client {
  readonly #connection: Connection
  readonly #streams: SharedStreams

  constructor(connection: Connection) {
    this.#connection = connection
    this.#streams = new SharedStreams(connection)
  }

  /** Undefined if there is no topic at this path, or none of the type; that is json unless `type` says otherwise. */
  get(path: string, options: GetOptions = {}): Promise<Item | undefined> {
    return unless(['no_such_topic', 'incompatible_type'], this.#fetch({ ...options, path }, itemOf))
  }

  /** As `get` of each, in the order of `paths`. A snapshot, unless they exceed a page of the service. */
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

  /** Adds to an existing number, exactly. Never sent twice: after a lost connection the outcome is unknown. */
  increment<Shown extends boolean = false>(
    path: string,
    increment: Addend,
    options: WriteOptions<Pick<IncrementBody, 'constraint'>, Shown> = {},
  ): Promise<Versioned<Incremented, Shown>> {
    return this.#write('set', { ...options, path, increment })
  }

  /** Sets a topic's value, and creates the topic if it is missing. `created` may be false after a repetition. */
  addAndSet<Shown extends boolean = false>(
    path: string,
    value: unknown,
    options: WriteOptions<AddAndSetBody, Shown> = {},
  ): Promise<Versioned<AddAnswer, Shown>> {
    return this.#write('addAndSet', { ...options, path, value })
  }

  /** Creates a topic without a value if it is missing. `created` may be false after a repetition. */
  add<Shown extends boolean = false>(
    path: string,
    options: WriteOptions<AddBody, Shown> = {},
  ): Promise<Versioned<AddAnswer, Shown>> {
    return this.#write('add', { ...options, path })
  }

  /** Removes the topic at this path, not its descendants. `removed` may be 0 after a repetition. */
  remove(path: string, options: RemoveOptions = {}): Promise<RemoveAnswer> {
    return this.#write('remove', { ...options, path })
  }

  /** Removes every topic that the selector matches, of either type. `removed` may be too low after a repetition. */
  removeMatches(selector: string, options: RemoveMatchesOptions = {}): Promise<RemoveAnswer> {
    return this.#write('remove', { ...options, selector })
  }

  /**
   * Carries out all of the operations in one commit, in their order, or none of them. It is never sent twice: after a
   * lost connection it is unknown whether it was carried out.
   *
   * @throws TopicdError whose `operation` is the index of the first operation that was refused
   */
  batch<const Operations extends readonly Operation[], Shown extends boolean = false>(
    operations: Operations,
    options: VersionOptions<Shown> = {},
  ): Promise<BatchAnswers<Operations, Shown>> {
    return this.#batch({ ...options, operations })
  }

  /** Applies each operation on its own, in order, in one commit; never sent twice. @returns each answer or refusal */
  batchEach<const Operations extends readonly Operation[], Shown extends boolean = false>(
    operations: Operations,
    options: VersionOptions<Shown> = {},
  ): Promise<BatchAnswers<Operations, Shown, RefusedAnswer>> {
    return this.#batch({ ...options, operations, atomic: false })
  }

  /**
   * Carries out any number of operations, each on its own and in their order. They are sent in pieces while they are made, so
   * they need not fit into memory, and each piece becomes durable before the next is sent. None is sent twice; where a lost
   * connection ends it, up to one piece more than the last progress said was carried out.
   *
   * @returns how many were carried out and refused; `onRefused` is told which
   */
  upload(operations: Iterable<Operation> | AsyncIterable<Operation>, options: UploadOptions = {}): Promise<Uploaded> {
    return upload(this.#connection, operations, options)
  }

  page(selector: string, options: PageOptions = {}): Promise<Page> {
    return this.#fetch({ ...options, selector }, pageOf)
  }

  /** Counts topics of type json unless `type` says otherwise. */
  count(selector: string, { signal, type }: CountOptions = {}): Promise<number> {
    return this.#fetch({ selector, type, count: true, signal }, (text) => objectOf<CountAnswer>(text).count)
  }

  /**
   * Everything that the selector matches, in tree order, fetched page by page; 100 topics at a time unless `size` says
   * otherwise. It is not a snapshot: topics that exist all the while come exactly once.
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

  /** Lists the children of a path, or the top of the tree, in tree order. Each costs two seeks, whatever is below it. */
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
    // What is below the child after which they are listed comes first.
    for await (const child of childrenIn(items, level)) if (child.path !== after) yield child
  }

  /**
   * Replaces a topic's value by what `change` makes of it, and creates the topic if it is missing. If another writer
   * comes in between, `change` is called again with what that one wrote. Versions tell, so the old value is not sent.
   *
   * @param change gets the topic, with its version, or undefined if there is none; if it returns undefined, nothing is
   *   written
   * @returns what the write answered, its version too, `created` being whether it created the topic; undefined if nothing was
   *   written
   * @throws TopicdError `unsatisfied_constraint` if other writers came first `attemptsMax` times. After a lost
   * connection it is unknown whether the value was written.
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

  /** The current state first, unless `since` is given; then each change. Only the signal or a refusal ends it. */
  changes(selector: string, { signal, since, ...members }: ChangesOptions = {}): Changes {
    return new Changes(this.#streams, { selector, ...members }, since, signal)
  }

  /** The selector's matches, as a Map that updates itself until it is closed. */
  follow(selector: string, { signal, ...members }: Omit<ChangesOptions, 'since'> = {}): LiveTopics {
    const controller = controllerWithin(signal)
    const changes = this.changes(selector, { ...members, signal: controller.signal })
    return new LiveTopics(changes, controller, this.#connection.timeoutMs)
  }

  /** The names below a path, or of all topics, a level at a time as they are opened: kept up to date until it is ended. */
  followTree(path = '', { size, signal }: TreeOptions = {}): LiveTree {
    return new LiveTree(this, path, controllerWithin(signal), size)
  }

  /** Ends the waits of all `follow` and `changes` during an outage: call it once the service is known to be back. */
  retry(): void {
    this.#streams.retry()
  }

  #fetch<Result>({ signal, ...members }: Asked, read: (text: string) => Result): Promise<Result> {
    return this.#connection.post('fetch', members, { signal, isRepeatable: true, read })
  }

  #batch<Results>({ signal, ...members }: Asked & { readonly operations: readonly Operation[] }): Promise<Results> {
    const read = (text: string) => {
      const results = elementsOf(membersOf(text).get('results') ?? '').map(objectOf)
      if (results.length !== members.operations.length) throw new SyntaxError('not one result for each operation')
      return results as Results
    }
    return this.#connection.post('batch', members, { signal, isRepeatable: false, read })
  }

  /** Not repeatable: an increment, and a write with a constraint, which its own first attempt may have made untrue. */
  #write<Answer>(route: string, { signal, ...members }: Asked): Promise<Answer> {
    const isRepeatable = members.constraint === undefined && members.increment === undefined
    return this.#connection.post(route, members, { signal, isRepeatable, read: objectOf<Answer> })
  }
}

/** The members of a request, with the signal that is none of them. */
type Asked = RequestOptions & { readonly [name: string]: unknown }

/** Undefined if the request is refused with one of these codes. */
async function unless<Result>(codes: readonly string[], request: Promise<Result>): Promise<Result | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof TopicdError && codes.includes(error.code)) return undefined
    throw error
  }
}

/** Adds the exact text of a value in the answer. @throws SyntaxError for a text that is not a JSON object */
function objectOf<Answer>(text: string): Answer {
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new SyntaxError('not an object')
  return ('value' in parsed ? { ...parsed, text: membersOf(text).get('value') } : parsed) as Answer
}
