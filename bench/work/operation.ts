/**
 * What a benchmark asks of a topic store, in terms that every contender can translate into its own requests, and the
 * answer that the specification wants. No HTTP, no contender, no clock lives here.
 */

/** One topic as a page shows it. */
export interface Item {
  readonly path: string
  /** JSON text, without white space. */
  readonly value: string
}

/** A subtree is what every ordered store can page through; any other selector only a topic server understands. */
export type Selector = { readonly subtree: string } | { readonly text: string }

/** One request. Values are JSON texts, without white space. */
export type Operation =
  /** Fetch by path; the topic holds one of `values`. */
  | { readonly kind: 'fetch'; readonly path: string; readonly values: readonly string[] }
  /** Fetch by selector; the page holds exactly `items`. */
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
  /** addAndSet of a topic that does not exist. */
  | { readonly kind: 'create'; readonly path: string; readonly value: string }
  /** add of a topic that does not exist. */
  | { readonly kind: 'add'; readonly path: string }
  /** remove by path of a topic that exists. */
  | { readonly kind: 'remove'; readonly path: string }

/** One connection's requests, in order; a driver starts again at the first after the last. */
export type Script = readonly Operation[]

/** The result item of a fetch, as text. */
export function itemText(item: Item): string {
  return `{"path":${JSON.stringify(item.path)},"type":"json","value":${item.value}}`
}

/** The bodies that answer an operation rightly: one, or as many as there are values that a topic may hold. */
export function rightAnswers(operation: Operation): readonly string[] {
  switch (operation.kind) {
    case 'fetch':
      return operation.values.map((value) => itemText({ path: operation.path, value }))
    case 'page':
      return [`{"has_more":${operation.hasMore},"results":[${operation.items.map(itemText).join()}]}`]
    case 'overwrite':
      return [`{"path":${JSON.stringify(operation.path)},"created":false}`]
    case 'create':
    case 'add':
      return [`{"path":${JSON.stringify(operation.path)},"created":true}`]
    case 'remove':
      return ['{"removed":1}']
  }
}

/** The selector as the specification writes it. */
export function selectorText(selector: Selector): string {
  return 'text' in selector ? selector.text : `*${selector.subtree}//`
}
