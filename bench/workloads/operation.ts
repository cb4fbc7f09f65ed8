/**
 * The operations of the benchmarks, which every server translates into its own requests, and the responses that topicd's API specifies.
 * Pure: nothing here depends on HTTP or on a server.
 */

/** A topic, as in a page. */
export interface Item {
  readonly path: string
  /** JSON text, without white space. */
  readonly value: string
}

/** Every ordered store can page through a subtree; only topicd supports other selectors. */
type Selector = { readonly subtree: string } | { readonly text: string }

/** One request. Values are JSON texts, without white space. */
export type Operation =
  /** Fetch by path; the topic has one of `values`. */
  | { readonly kind: 'fetch'; readonly path: string; readonly values: readonly string[] }
  /** Fetch by many paths; each topic exists. */
  | { readonly kind: 'many'; readonly items: readonly Item[] }
  /** Fetch by selector; the page contains exactly `items`. */
  | {
      readonly kind: 'page'
      readonly selector: Selector
      readonly after: string | undefined
      readonly size: number
      readonly items: readonly Item[]
      readonly hasMore: boolean
    }
  /** addAndSet of a topic that exists. */
  | { readonly kind: 'overwrite'; readonly path: string; readonly value: string }
  /** set of a topic that exists. */
  | { readonly kind: 'set'; readonly path: string; readonly value: string }
  /** addAndSet of a number, from which later increments count. */
  | { readonly kind: 'counter'; readonly path: string; readonly value: string }
  /** Adds 1 to a number; the response contains the sum. */
  | { readonly kind: 'increment'; readonly path: string }
  /** Fetch of a number by path. */
  | { readonly kind: 'count'; readonly path: string; readonly value: string }
  /** addAndSet of a topic that does not exist. */
  | { readonly kind: 'create'; readonly path: string; readonly value: string }
  /** add of a topic that does not exist. */
  | { readonly kind: 'add'; readonly path: string }
  /** remove by path of a topic that exists. */
  | { readonly kind: 'remove'; readonly path: string }
  /** addAndSet of topics that exist, all or nothing. */
  | { readonly kind: 'batch'; readonly writes: readonly Item[] }
  /** addAndSet of a topic whose value is `current`, with `current` as the constraint. */
  | { readonly kind: 'cas'; readonly path: string; readonly current: string; readonly value: string }
  /** The next `size` children of `parent`, each represented by its first topic, without values; the page contains exactly `paths`. */
  | {
      readonly kind: 'list'
      readonly parent: string
      readonly after: string | undefined
      readonly size: number
      readonly paths: readonly string[]
      readonly hasMore: boolean
    }

/** One connection's requests, in order; after the last, a driver starts over. */
export type Script = readonly Operation[]

/** The result item of a fetch, as text. */
export function itemText(item: Item): string {
  return `{"path":${JSON.stringify(item.path)},"type":"json","value":${item.value}}`
}

/**
 * The bodies of correct responses to an operation: one, or one per possible value of the topic. The body for an increment only has about
 * the right size, because other connections add to the same number; servers/counting.ts reads the real response.
 */
export function expectedBodies(operation: Operation): readonly string[] {
  switch (operation.kind) {
    case 'fetch':
      return operation.values.map((value) => itemText({ path: operation.path, value }))
    case 'count':
      return [itemText(operation)]
    case 'set':
      return [`{"path":${JSON.stringify(operation.path)}}`]
    case 'increment':
      return [`{"path":${JSON.stringify(operation.path)},"value":10000}`]
    case 'many':
      return [`{"results":[${operation.items.map(itemText).join()}]}`]
    case 'page':
      return [`{"has_more":${operation.hasMore},"results":[${operation.items.map(itemText).join()}]}`]
    case 'overwrite':
    case 'cas':
    case 'counter':
      return [overwritten(operation.path)]
    case 'batch':
      return [`{"results":[${operation.writes.map(({ path }) => overwritten(path)).join()}]}`]
    case 'list':
      return [`{"has_more":${operation.hasMore},"results":[${operation.paths.map(listedText).join()}]}`]
    case 'create':
    case 'add':
      return [`{"path":${JSON.stringify(operation.path)},"created":true}`]
    case 'remove':
      return ['{"removed":1}']
  }
}

/** The values that an acknowledged operation leaves in existing topics. */
export function writesOf(operation: Operation): readonly Item[] {
  switch (operation.kind) {
    case 'overwrite':
    case 'set':
    case 'cas':
      return [operation]
    case 'batch':
      return operation.writes
    default:
      return []
  }
}

/** A topic of a listing without values, as text. */
function listedText(path: string): string {
  return `{"path":${JSON.stringify(path)},"type":"json"}`
}

function overwritten(path: string): string {
  return `{"path":${JSON.stringify(path)},"created":false}`
}

/** The selector in topicd's syntax. */
export function selectorText(selector: Selector): string {
  return 'text' in selector ? selector.text : `*${selector.subtree}//`
}
