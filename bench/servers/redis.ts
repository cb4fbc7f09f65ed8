/**
 * Redis behind webdis, an HTTP gateway to it, with `appendfsync always`. Each topic is a string, the finished result item, and a script
 * builds pages from a sorted set of all paths. This is roughly the least work that Redis can do. An overwrite is a plain SET, a batch of
 * overwrites one MSET; only adds and removes update the set of paths, in scripts. A compare-and-set is also a script: webdis does not give
 * a request its own connection, so WATCH cannot be used. A script lists children by jumping in the set of paths from one child to the next.
 * Reading a set of children per node would be cheaper, but every add and remove would have to maintain the sets.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { send } from '../measure/http.js'
import { programVersion } from '../measure/machine.js'
import { expectedBodies, itemText, type Operation } from '../workloads/operation.js'
import { type Child, freePort, startChild } from './child.js'
import type { Exchange, Running, Server, Setting } from './server.js'

const add = `if redis.call('SETNX', ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('ZADD', 'paths', 0, ARGV[1])
return 1`

const remove = `redis.call('ZREM', 'paths', ARGV[1])
return redis.call('DEL', ARGV[1])`

const page = `local size = tonumber(ARGV[3])
local paths = redis.call('ZRANGEBYLEX', 'paths', ARGV[1], ARGV[2], 'LIMIT', 0, size + 1)
local more = #paths > size
if more then paths[#paths] = nil end
local items = #paths > 0 and redis.call('MGET', unpack(paths)) or {}
return '{"has_more":' .. tostring(more) .. ',"results":[' .. table.concat(items, ',') .. ']}'`

const compareAndSet = `if redis.call('GET', ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('SET', ARGV[1], ARGV[3])
return 1`

/** The children's paths, all below `ARGV[1]`, starting at the bound `ARGV[2]`; `0` is the character after `/`. */
const list = `local parent, from, size, items, more = ARGV[1], ARGV[2], tonumber(ARGV[3]), {}, false
while true do
  local path = redis.call('ZRANGEBYLEX', 'paths', from, '(' .. parent .. '0', 'LIMIT', 0, 1)[1]
  if not path then break end
  if #items == size then more = true break end
  items[#items + 1] = '{"path":' .. cjson.encode(path):gsub('\\\\/', '/') .. ',"type":"json"}'
  from = '[' .. parent .. '/' .. path:sub(#parent + 2):match('^[^/]*') .. '0'
end
return '{"has_more":' .. tostring(more) .. ',"results":[' .. table.concat(items, ',') .. ']}'`

export const redisVersion = programVersion('redis-server', ['--version'], /v=[\d.]+/)
const webdisVersion = programVersion('dpkg-query', ['--show', 'webdis'], /[\d.]+/)

export const redis: Server = {
  name: 'redis + webdis',
  version: `redis ${redisVersion?.slice(2)}, webdis ${webdisVersion}`,
  missing: redisVersion && webdisVersion ? undefined : 'it needs Debian\'s packages "redis-server" and "webdis"',
  dataFormat: 'redis-1',
  durability: 'fsync before the response (appendfsync always)',
  start,
}

/** Starts Redis alone, without the gateway. */
export async function startRedis(directory: string): Promise<{ readonly child: Child; readonly port: number }> {
  const port = await freePort()
  const settings = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '', '--dir', directory]
  const child = await startChild({
    command: 'redis-server',
    args: ['--bind', '127.0.0.1', '--port', String(port), ...settings],
    ready: { line: (line) => line.includes('Ready to accept connections') },
  })
  return { child, port }
}

async function start(setting: Setting): Promise<Running> {
  const { child: store, port: redisPort } = await startRedis(setting.directory)
  const port = await freePort()
  const config = join(setting.directory, 'webdis.json')
  const listen = { http_host: '127.0.0.1', http_port: port, redis_host: '127.0.0.1', redis_port: redisPort }
  const log = { verbosity: 0, logfile: join(setting.directory, 'webdis.log') }
  writeFileSync(config, JSON.stringify({ ...listen, ...log, threads: setting.workers, daemonize: false, acl: [] }))
  const gateway = await startChild({
    command: 'webdis',
    args: [config],
    ready: { poll: async () => (await send(port, {}, { method: 'GET', path: '/PING', body: '' })).status === 200 },
  })
  const scripts = {
    add: await loadScript(port, add),
    remove: await loadScript(port, remove),
    page: await loadScript(port, page),
    compareAndSet: await loadScript(port, compareAndSet),
    list: await loadScript(port, list),
  }
  return {
    port,
    headers: {},
    blankDigits: false,
    pids: () => [store.pid, gateway.pid],
    exchange: (operation) => exchange(operation, scripts),
    stop: async () => {
      await gateway.stop()
      await store.stop()
    },
  }
}

interface Scripts {
  readonly add: string
  readonly remove: string
  readonly page: string
  readonly compareAndSet: string
  readonly list: string
}

function exchange(operation: Operation, scripts: Scripts): Exchange | undefined {
  const put = (path: string, body: string, answer: string): Exchange => ({
    method: 'PUT',
    path,
    body,
    expected: [answer],
  })
  switch (operation.kind) {
    case 'fetch':
      return {
        method: 'GET',
        path: `/GET/${argument(operation.path)}.txt`,
        body: '',
        expected: expectedBodies(operation),
      }
    case 'count':
      return { method: 'GET', path: `/GET/${argument(operation.path)}.txt`, body: '', expected: [operation.value] }
    case 'counter':
      return put(`/SET/${argument(operation.path)}`, operation.value, '{"SET":[true,"OK"]}')
    case 'increment': {
      const path = `/INCRBY/${argument(operation.path)}/1`
      return { method: 'GET', path, body: '', expected: [], counting: { of: 'redis', path: operation.path } }
    }
    case 'many':
      return {
        ...command('MGET', ...operation.items.map(({ path }) => path)),
        expected: [JSON.stringify({ MGET: operation.items.map(itemText) })],
      }
    case 'page': {
      if (!('subtree' in operation.selector)) return undefined
      const { subtree } = operation.selector
      const from = operation.after === undefined ? `[${subtree}/` : `(${operation.after}`
      const bounds = `${argument(from)}/${argument(`(${subtree}0`)}/${operation.size}`
      return {
        method: 'GET',
        path: `/EVALSHA/${scripts.page}/0/${bounds}.txt`,
        body: '',
        expected: expectedBodies(operation),
      }
    }
    case 'overwrite':
    case 'set':
      return put(`/SET/${argument(operation.path)}`, itemText(operation), '{"SET":[true,"OK"]}')
    case 'create':
      return put(`/EVALSHA/${scripts.add}/0/${argument(operation.path)}`, itemText(operation), '{"EVALSHA":1}')
    case 'add': {
      const item = `{"path":${JSON.stringify(operation.path)},"type":"json"}`
      return put(`/EVALSHA/${scripts.add}/0/${argument(operation.path)}`, item, '{"EVALSHA":1}')
    }
    case 'remove':
      return {
        method: 'GET',
        path: `/EVALSHA/${scripts.remove}/0/${argument(operation.path)}`,
        body: '',
        expected: ['{"EVALSHA":1}'],
      }
    case 'batch': {
      const pairs = operation.writes.flatMap((write) => [write.path, itemText(write)])
      return { ...command('MSET', ...pairs), expected: ['{"MSET":[true,"OK"]}'] }
    }
    case 'cas': {
      const { path, current } = operation
      const values = [itemText({ path, value: current }), itemText(operation)]
      return { ...command('EVALSHA', scripts.compareAndSet, '0', path, ...values), expected: ['{"EVALSHA":1}'] }
    }
    case 'list': {
      const { parent, after, size } = operation
      const from = after === undefined ? `[${parent}/` : `[${childOf(parent, after)}0`
      const path = `/EVALSHA/${scripts.list}/0/${[parent, from, String(size)].map(argument).join('/')}.txt`
      return { method: 'GET', path, body: '', expected: expectedBodies(operation) }
    }
  }
}

/** A command with all arguments in the body, which may be longer than a URL. */
function command(...words: readonly string[]): Omit<Exchange, 'expected'> {
  return { method: 'POST', path: '/', body: words.map(argument).join('/') }
}

/** The child of `parent` that contains a path. */
function childOf(parent: string, path: string): string {
  const depth = parent.split('/').length + 1
  return path.split('/').slice(0, depth).join('/')
}

async function loadScript(port: number, script: string): Promise<string> {
  const body = `SCRIPT/LOAD/${argument(script)}`
  const answer = await send(port, {}, { method: 'POST', path: '/', body })
  return (JSON.parse(answer.body) as { SCRIPT: string }).SCRIPT
}

/** webdis splits arguments at slashes and treats the text after a dot as a file type. */
function argument(text: string): string {
  return encodeURIComponent(text).replaceAll('.', '%2E')
}
