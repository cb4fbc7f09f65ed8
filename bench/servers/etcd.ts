/**
 * etcd through its JSON gateway: the path is the key, a page is a range with a limit, keys and values are in base64. Its responses contain
 * revisions, whose digits are blanked before responses are compared. It cannot list children: a range of keys, even without values, returns
 * every descendant. It also cannot add, so an increment compares and sets until no other client is quicker; only the successful attempt is
 * counted.
 */
import { join } from 'node:path'
import { send } from '../measure/http.js'
import { programVersion } from '../measure/machine.js'
import type { Item, Operation } from '../workloads/operation.js'
import { freePort, startChild } from './child.js'
import { base64, firstAttempt } from './counting.js'
import type { Exchange, Running, Server, Setting } from './server.js'

const version = programVersion('etcd', ['--version'], /(?<=etcd Version: )[\d.]+/)

/** Operations per transaction: etcd's default of 128 would reject the batches of 1,000. */
const transactionOperationsMax = 1000

const header = '"header":{"cluster_id":"","member_id":"","revision":"","raft_term":""}'

export const etcd: Server = {
  name: 'etcd',
  version: `etcd ${version}`,
  missing: version === undefined ? 'it needs Debian\'s package "etcd-server"' : undefined,
  dataFormat: 'etcd-1',
  durability: 'fsync before the response',
  start,
}

async function start(setting: Setting): Promise<Running> {
  const port = await freePort()
  const clients = `http://127.0.0.1:${port}`
  const peers = `http://127.0.0.1:${await freePort()}`
  const child = await startChild({
    command: 'etcd',
    args: [
      ...[
        '--data-dir',
        join(setting.directory, 'data'),
        '--quota-backend-bytes',
        String(8 * 1024 ** 3),
        '--max-txn-ops',
        String(transactionOperationsMax),
        '--log-level',
        'error',
      ],
      ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`],
    ],
    environment: { GOMAXPROCS: String(setting.workers) },
    ready: {
      poll: async () => (await send(port, {}, { method: 'GET', path: '/health', body: '' })).body.includes('true'),
    },
  })
  return {
    port,
    headers: { 'content-type': 'application/json' },
    blankDigits: true,
    pids: () => [child.pid],
    exchange,
    stop: child.stop,
  }
}

function exchange(operation: Operation): Exchange | undefined {
  switch (operation.kind) {
    case 'fetch':
      return {
        ...post('range', { key: base64(operation.path) }),
        expected: operation.values.map(
          (value) => `{${header},"kvs":[${pair({ path: operation.path, value })}],"count":""}`,
        ),
      }
    case 'count':
      return exchange({ kind: 'fetch', path: operation.path, values: [operation.value] })
    case 'increment':
      return {
        method: 'POST',
        path: '/v3/kv/txn',
        body: firstAttempt(operation.path),
        expected: [],
        counting: { of: 'etcd', path: operation.path },
      }
    case 'many': {
      const success = operation.items.map(({ path }) => ({ request_range: { key: base64(path) } }))
      const responses = operation.items.map(
        (item) => `{"response_range":{"header":{"revision":""},"kvs":[${pair(item)}],"count":""}}`,
      )
      return { ...post('txn', { success }), expected: [`{${header},"succeeded":true,"responses":[${responses}]}`] }
    }
    case 'page': {
      if (!('subtree' in operation.selector)) return undefined
      const { subtree } = operation.selector
      const from = operation.after === undefined ? `${subtree}/` : `${operation.after}\0`
      const more = operation.hasMore ? ',"more":true' : ''
      return {
        ...post('range', { key: base64(from), range_end: base64(`${subtree}0`), limit: String(operation.size) }),
        expected: [`{${header},"kvs":[${operation.items.map(pair).join()}]${more},"count":""}`],
      }
    }
    case 'overwrite':
    case 'set':
    case 'counter':
    case 'create':
      return {
        ...post('put', { key: base64(operation.path), value: base64(operation.value) }),
        expected: [`{${header}}`],
      }
    case 'add':
      return { ...post('put', { key: base64(operation.path) }), expected: [`{${header}}`] }
    case 'remove':
      return { ...post('deleterange', { key: base64(operation.path) }), expected: [`{${header},"deleted":""}`] }
    case 'batch':
      return transaction([], operation.writes)
    case 'cas': {
      const compare = {
        key: base64(operation.path),
        target: 'VALUE',
        result: 'EQUAL',
        value: base64(operation.current),
      }
      return transaction([compare], [operation])
    }
    case 'list':
      return undefined
  }
}

/** A transaction that writes if all comparisons hold. */
function transaction(compare: readonly object[], writes: readonly Item[]): Exchange {
  const success = writes.map(({ path, value }) => ({ request_put: { key: base64(path), value: base64(value) } }))
  const responses = writes.map(() => '{"response_put":{"header":{"revision":""}}}').join()
  return { ...post('txn', { compare, success }), expected: [`{${header},"succeeded":true,"responses":[${responses}]}`] }
}

function post(call: string, body: object): Omit<Exchange, 'expected'> {
  return { method: 'POST', path: `/v3/kv/${call}`, body: JSON.stringify(body) }
}

function pair(item: Item): string {
  const revisions = '"create_revision":"","mod_revision":"","version":""'
  return `{"key":"${base64(item.path)}",${revisions},"value":"${base64(item.value)}"}`
}
