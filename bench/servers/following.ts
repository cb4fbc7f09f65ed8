/**
 * Follows the changes of groups of topics on the servers that can announce them, each by its own method over HTTP: one connection per
 * stream, which stays open. A group is `g/NUMBER` and has one topic.
 */
import { base64 } from './counting.js'
import { etcd } from './etcd.js'
import { redis } from './redis.js'
import type { Exchange, Server } from './server.js'

type Request = Omit<Exchange, 'expected'>

export interface Following {
  /** Opens a stream of future changes in one group, or in all groups. */
  readonly stream: (group: number | undefined) => Request
  /** Additional headers of the stream's request. */
  readonly headers: Readonly<Record<string, string>>
  /** Writes a value to the topics of several groups, in one transaction. */
  readonly write: (groups: readonly number[], value: string) => Request
  /** Text that the response contains once the stream has started. */
  readonly begun: string
  /** Text that each event with a change contains once, and no other event contains. */
  readonly change: string
  /** A value as it appears in an event. */
  readonly shown: (value: string) => string
}

const post = (path: string, body: object): Request => ({ method: 'POST', path, body: JSON.stringify(body) })
const topicOf = (group: number): string => `g/${group}/n`

/** topicd, and the bare server, which reads the same requests. */
export const byEvents: Following = {
  stream: (group) =>
    post('/topics/changes', { selector: group === undefined ? '*g//' : `*g/${group}//`, since: 'now', size: 1000 }),
  headers: { accept: 'text/event-stream' },
  write: (groups, value) =>
    post('/topics/batch', { operations: groups.map((group) => ({ op: 'addAndSet', path: topicOf(group), value })) }),
  begun: 'id: ',
  change: '"value":',
  shown: (value) => `"${value}"`,
}

const byWatch: Following = {
  stream(group) {
    const [from, to] = group === undefined ? ['g/', 'g0'] : [`g/${group}/`, `g/${group}0`]
    return post('/v3/watch', { create_request: { key: base64(from), range_end: base64(to) } })
  },
  headers: {},
  write(groups, value) {
    const success = groups.map((group) => ({ request_put: { key: base64(topicOf(group)), value: base64(value) } }))
    return post('/v3/kv/txn', { success })
  },
  begun: '"created":true',
  change: '"kv":',
  shown: base64,
}

const setAndPublish = `for i = 2, #ARGV do
  redis.call('SET', 'g/' .. ARGV[i] .. '/n', ARGV[1])
  redis.call('PUBLISH', 'g:' .. ARGV[i], ARGV[1])
end`

/** webdis splits the arguments of a command at slashes. */
const command = (...words: readonly string[]): string => words.map(encodeURIComponent).join('/')

const byPublishing: Following = {
  stream: (group) => ({
    method: 'GET',
    path: `/${group === undefined ? command('PSUBSCRIBE', 'g:*') : command('SUBSCRIBE', `g:${group}`)}`,
    body: '',
  }),
  headers: {},
  write: (groups, value) => ({
    method: 'POST',
    path: '/',
    body: command('EVAL', setAndPublish, '0', value, ...groups.map(String)),
  }),
  begun: 'subscribe",',
  change: 'message",',
  shown: (value) => `"${value}"`,
}

/** The third-party servers. Redis notifies only clients that are listening at the time. */
export const followedPeers: readonly { readonly server: Server; readonly following: Following }[] = [
  { server: redis, following: byPublishing },
  { server: etcd, following: byWatch },
]
