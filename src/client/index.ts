/**
 * The package's entry `topicd/client`: everything that users of the client import. It is the only file that re-exports,
 * because the package has a single entry. It runs in Node.js and in browsers.
 *
 * The files in this folder import only each other and, from the rest of the source, only types. The service
 * imports nothing from here.
 */
export type { Change, Changes, ChangesOptions } from './changes/changes.js'
export type { Disconnection } from './changes/events.js'
export type { LiveTopics, TopicChange } from './changes/live-topics.js'
export type { LiveTree, TreeOptions } from './changes/live-tree.js'
export type { Child } from './child.js'
export { type Client, connect, type UpdateOptions } from './client.js'
export type { ConnectOptions, RequestOptions } from './connection.js'
export { TopicdError } from './error.js'
export type { Item, Page } from './item.js'
export { type JsonText, jsonText } from './json-text.js'
export { anyOf, descendants, selectorFor, subtree, topic } from './selectors.js'
export type { Refusal, Uploaded, UploadOptions } from './upload.js'
export type {
  Addend,
  Constraint,
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
