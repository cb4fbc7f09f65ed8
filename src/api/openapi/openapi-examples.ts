/**
 * Requests and their answers, as the API description shows them. A test sends them to an empty service, in this order,
 * and compares every answer with the one written here.
 */

/** One request and its answer. */
export interface Example {
  readonly name: string
  readonly summary: string
  readonly request: { readonly [name: string]: ExampleJson }
  readonly answer: { readonly [name: string]: ExampleJson }
}

/** The JSON values that the examples use. */
type ExampleJson = boolean | number | string | readonly ExampleJson[] | { readonly [name: string]: ExampleJson }

export const examples = {
  addAndSet: [
    {
      name: 'json',
      summary: 'A JSON value, of any kind',
      request: { path: 'plant/7/temp', value: 21.5 },
      answer: { path: 'plant/7/temp', created: true },
    },
    {
      name: 'string',
      summary: 'A topic of type string that expires',
      request: {
        path: 'plant/7/alarm',
        type: 'string',
        value: 'none',
        properties: { REMOVAL: 'when no updates for 1d' },
      },
      answer: { path: 'plant/7/alarm', created: true },
    },
  ],
  add: [
    {
      name: 'empty',
      summary: 'A topic without a value yet',
      request: { path: 'plant/7/humidity', properties: { VALIDATE_VALUES: 'true' } },
      answer: { path: 'plant/7/humidity', created: true },
    },
  ],
  set: [
    {
      name: 'json',
      summary: 'A new value',
      request: { path: 'plant/7/temp', value: { celsius: 21.75, at: '2030-01-01T12:00:00Z' } },
      answer: { path: 'plant/7/temp' },
    },
    {
      name: 'compareAndSet',
      summary: 'A new value, if nobody has changed the last one',
      request: {
        path: 'plant/7/temp',
        value: { celsius: 22, at: '2030-01-01T12:01:00Z' },
        constraint: { value: { celsius: 21.75, at: '2030-01-01T12:00:00Z' } },
      },
      answer: { path: 'plant/7/temp' },
    },
  ],
  fetch: [
    {
      name: 'byPath',
      summary: 'One topic',
      request: { path: 'plant/7/temp' },
      answer: { path: 'plant/7/temp', type: 'json', value: { celsius: 22, at: '2030-01-01T12:01:00Z' } },
    },
    {
      name: 'byPaths',
      summary: 'Many topics, in this order, as they are at one moment',
      request: { paths: ['plant/7/humidity', 'plant/8/temp'] },
      answer: {
        results: [
          { path: 'plant/7/humidity', type: 'json' },
          { path: 'plant/8/temp', missing: true },
        ],
      },
    },
    {
      name: 'firstPage',
      summary: 'A subtree, its first page',
      request: { selector: '*plant//', size: 1 },
      answer: { has_more: true, results: [{ path: 'plant/7/humidity', type: 'json' }] },
    },
    {
      name: 'nextPage',
      summary: 'The next page: after the last path received',
      request: { selector: '*plant//', size: 1, after: 'plant/7/humidity' },
      answer: {
        has_more: false,
        results: [{ path: 'plant/7/temp', type: 'json', value: { celsius: 22, at: '2030-01-01T12:01:00Z' } }],
      },
    },
    {
      name: 'children',
      summary: 'The branches below a topic: the first topic of each, of any type, without its value',
      request: {
        selector: '*plant/',
        type: 'any',
        deep_branch_depth: 2,
        deep_branch_limit: 1,
        with_values: false,
        with_properties: true,
      },
      answer: {
        has_more: false,
        results: [{ path: 'plant/7/alarm', type: 'string', properties: { REMOVAL: 'when no updates for 1d' } }],
      },
    },
    {
      name: 'count',
      summary: 'The number of topics in a subtree, of any type',
      request: { selector: '*plant//', type: 'any', count: true },
      answer: { count: 3 },
    },
  ],
  // Its answers have tokens, which differ each time.
  changes: [],
  remove: [
    {
      name: 'byPath',
      summary: 'One topic, without its descendants',
      request: { path: 'plant/7/humidity' },
      answer: { removed: 1 },
    },
    {
      name: 'dryRun',
      summary: 'How many topics a subtree has, of both types; nothing is removed',
      request: { selector: '*plant//', dry_run: true },
      answer: { removed: 2 },
    },
    {
      name: 'bySelector',
      summary: 'A subtree, both types',
      request: { selector: '*plant//' },
      answer: { removed: 2 },
    },
  ],
  batch: [
    {
      name: 'transfer',
      summary: 'Two accounts change together, or neither',
      request: {
        operations: [
          { op: 'addAndSet', path: 'accounts/1', value: 70, constraint: { no_topic: true } },
          { op: 'addAndSet', path: 'accounts/2', value: 30, constraint: { no_topic: true } },
          { op: 'remove', path: 'accounts/0' },
        ],
      },
      answer: {
        results: [{ path: 'accounts/1', created: true }, { path: 'accounts/2', created: true }, { removed: 0 }],
      },
    },
    {
      name: 'each',
      summary: 'Each operation on its own',
      request: {
        operations: [
          { op: 'set', path: 'accounts/1', value: 71 },
          { op: 'set', path: 'accounts/3', value: 0 },
        ],
        atomic: false,
      },
      answer: {
        results: [
          { path: 'accounts/1' },
          { code: 'no_such_topic', message: 'There is no topic at the path "accounts/3".' },
        ],
      },
    },
  ],
} as const satisfies Record<string, readonly Example[]>
