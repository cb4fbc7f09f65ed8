/**
 * topicd itself, as `node dist/main.js serve` with an API key made by `keys add`: whatever revision its `dist` was built
 * from. Its home holds the data directory and, beside it, the token of the benchmark's key.
 */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { processTree } from '../measure/cpu.js'
import { root } from '../measure/machine.js'
import { itemText, type Operation, rightAnswers, selectorText } from '../work/operation.js'
import type { Tree } from '../work/tree.js'
import { type Child, plainEnvironment, startChild } from './child.js'
import type { Contender, Exchange, Running, Setting } from './contender.js'

const run = promisify(execFile)

/** Lines of an import that are handed over together. */
const linesAtOnce = 1000

/** What topicd needs to be one contender among several of its revisions. */
export interface Build {
  readonly name: string
  /** The directory that holds `main.js`. */
  readonly dist: string
  readonly version?: string
  /** Options of Node for every process of the server: forked workers inherit them. */
  readonly nodeOptions?: readonly string[]
}

/** topicd as built in `dist`. */
export async function topicd(build: Build): Promise<Contender> {
  const main = join(build.dist, 'main.js')
  return {
    name: build.name,
    version: build.version,
    missing: existsSync(main) ? undefined : `${main} is not there: run "npm run build" first`,
    homeKey: `topicd-${await storeFingerprint(build.dist)}`,
    durability: 'fsync before the answer',
    start: (setting) => start(build, setting),
    load: (await canImport(main)) ? (tree, home) => importTree(build, tree, home) : undefined,
  }
}

/** The topicd of this checkout. */
export const thisBuild: Build = { name: 'topicd', dist: join(root, 'dist') }

/** The request of an operation, without its answers. */
export function topicdRequest(operation: Operation): Omit<Exchange, 'answers'> {
  return { method: 'POST', path: `/topics/${route(operation)}`, body: body(operation) }
}

async function start(build: Build, setting: Setting): Promise<Running> {
  const { main, data, tokenFile } = await furnished(build, setting.home)
  const { child, port } = await startService({ main, data, workers: setting.workers, nodeOptions: build.nodeOptions })
  return {
    port,
    headers: { authorization: `Apikey ${readFileSync(tokenFile, 'utf8')}`, 'content-type': 'application/json' },
    blankDigits: false,
    pids: () => processTree(child.pid),
    exchange: (operation) => ({ ...topicdRequest(operation), answers: rightAnswers(operation) }),
    stop: child.stop,
  }
}

/** How a topicd is started, on whatever store its environment names. */
export interface ServiceStart {
  readonly main: string
  readonly data: string
  readonly workers: number
  readonly nodeOptions?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a topicd on a free port; resolves when it listens. */
export async function startService(start: ServiceStart): Promise<{ readonly child: Child; readonly port: number }> {
  const { main, data, workers, nodeOptions = [], environment } = start
  let url = ''
  const args = ['serve', '--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--data', data]
  const child = await startChild({
    command: process.execPath,
    args: [...nodeOptions, main, ...args, '--workers', String(workers)],
    environment,
    ready: {
      line: (line) => {
        const logged = JSON.parse(line) as { msg?: string; url?: string }
        if (logged.msg === 'listening') url = logged.url ?? ''
        return url !== ''
      },
    },
  })
  return { child, port: Number(new URL(url).port) }
}

/** The files of a home, with an API key made if there is none yet. */
async function furnished(build: Build, home: string): Promise<{ main: string; data: string; tokenFile: string }> {
  const files = { main: join(build.dist, 'main.js'), data: join(home, 'data'), tokenFile: join(home, 'token') }
  if (existsSync(files.tokenFile)) return files
  const { stdout } = await run(process.execPath, [files.main, 'keys', 'add', 'bench', '--data', files.data], {
    env: plainEnvironment,
  })
  writeFileSync(files.tokenFile, stdout.trim(), { mode: 0o600 })
  return files
}

/** Whether this revision has the command `import`. */
async function canImport(main: string): Promise<boolean> {
  if (!existsSync(main)) return false
  const { stdout } = await run(process.execPath, [main, '--help'], { env: plainEnvironment })
  return /^(?:topicd| ) import /m.test(stdout)
}

async function importTree(build: Build, tree: Tree, home: string): Promise<void> {
  const { main, data } = await furnished(build, home)
  const child = spawn(process.execPath, [main, 'import', '--data', data], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: plainEnvironment,
  })
  const ended = once(child, 'exit')
  await pipeline(Readable.from(lines(tree)), child.stdin)
  const [code] = await ended
  if (code !== 0) throw new Error(`the import ended with ${code}`)
}

/** The tree as an export has it, many lines at a time. */
function* lines(tree: Tree): Generator<string> {
  for (let i = 0; i < tree.topics; i += linesAtOnce) {
    yield tree
      .items(i, linesAtOnce)
      .map((item) => `${itemText(item)}\n`)
      .join('')
  }
}

function route(operation: Operation): string {
  switch (operation.kind) {
    case 'fetch':
    case 'page':
      return 'fetch'
    case 'overwrite':
    case 'create':
      return 'addAndSet'
    case 'add':
      return 'add'
    case 'remove':
      return 'remove'
  }
}

function body(operation: Operation): string {
  switch (operation.kind) {
    case 'fetch':
    case 'add':
    case 'remove':
      return JSON.stringify({ path: operation.path })
    case 'page':
      return JSON.stringify({
        selector: selectorText(operation.selector),
        size: operation.size,
        after: operation.after,
      })
    case 'overwrite':
    case 'create':
      return `{"path":${JSON.stringify(operation.path)},"value":${operation.value}}`
  }
}

/** Changes with whatever decides how topics and keys lie on disk, so that homes of another format are not used again. */
async function storeFingerprint(dist: string): Promise<string> {
  const hash = createHash('sha256')
  for (const folder of ['store', 'topics', 'keys']) {
    const names = existsSync(join(dist, folder)) ? await readdir(join(dist, folder)) : []
    for (const name of names.filter((name) => name.endsWith('.js')).sort()) {
      hash.update(name).update(await readFile(join(dist, folder, name)))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
