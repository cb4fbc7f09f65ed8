/**
 * topicd itself, as `node dist/main.js serve` with an API key from `keys add`; `dist` may be built from any revision. Its directory
 * contains the data and the token of the benchmark's key.
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
import { expectedBodies, itemText } from '../workloads/operation.js'
import type { Tree } from '../workloads/tree.js'
import { type Child, cleanEnvironment, startChild } from './child.js'
import type { Running, Server, Setting } from './server.js'
import { topicdRequest } from './topicd-request.js'

const run = promisify(execFile)

/** Lines of an import that are written together. */
const linesAtOnce = 1000

/** A built revision of topicd, as one server of several. */
interface Build {
  readonly name: string
  /** The directory that contains `main.js`. */
  readonly dist: string
  readonly version?: string
  /** Options of Node for every process of the server: forked workers inherit them. */
  readonly nodeOptions?: readonly string[]
  /** Additional flags of `serve`. */
  readonly flags?: readonly string[]
  /** Additional API keys, for more streams than one key may have; default 0. */
  readonly moreKeys?: number
}

/** topicd as built in `dist`. */
export async function topicd(build: Build): Promise<Server> {
  const main = join(build.dist, 'main.js')
  return {
    name: build.name,
    version: build.version,
    missing: existsSync(main) ? undefined : `${main} does not exist: run "npm run build" first`,
    dataFormat: `topicd-${await storeFingerprint(build.dist)}`,
    durability: 'fsync before the response',
    start: (setting) => start(build, setting),
    load: (await canImport(main)) ? (tree, directory) => importTree(build, tree, directory) : undefined,
  }
}

/** The topicd of this checkout. */
export const thisBuild: Build = { name: 'topicd', dist: join(root, 'dist') }

async function start(build: Build, setting: Setting): Promise<Running> {
  const { main, data, tokenFile } = await prepare(build, setting.directory)
  const { nodeOptions, flags } = build
  const { child, port } = await startService({ main, data, workers: setting.workers, nodeOptions, flags })
  const moreKeys: Running['headers'][] = []
  for (let i = 0; i < (build.moreKeys ?? 0); i++) moreKeys.push(headersOf(await addKey(main, `more-${i}`, [], data)))
  return {
    port,
    headers: headersOf(readFileSync(tokenFile, 'utf8')),
    moreKeys,
    blankDigits: false,
    pids: () => processTree(child.pid),
    exchange: (operation) => ({
      ...topicdRequest(operation),
      expected: expectedBodies(operation),
      ...(operation.kind === 'increment' ? { counting: { of: 'topicd', path: operation.path } as const } : {}),
    }),
    stop: child.stop,
  }
}

/** The parameters of a topicd process. Its environment may name a store other than `data`. */
interface ServiceStart {
  readonly main: string
  readonly data: string
  readonly workers: number
  readonly nodeOptions?: readonly string[]
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a topicd on a free port; resolves when it listens. */
export async function startService(start: ServiceStart): Promise<{ readonly child: Child; readonly port: number }> {
  const { main, data, workers, nodeOptions = [], flags = [], environment } = start
  let url = ''
  const args = ['serve', '--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--data', data]
  const child = await startChild({
    command: process.execPath,
    args: [...nodeOptions, main, ...args, '--workers', String(workers), ...flags],
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

/** The files of a directory; adds an API key if the directory is new. */
async function prepare(build: Build, directory: string): Promise<{ main: string; data: string; tokenFile: string }> {
  const files = {
    main: join(build.dist, 'main.js'),
    data: join(directory, 'data'),
    tokenFile: join(directory, 'token'),
  }
  if (existsSync(files.tokenFile)) return files
  const create = await known(files.main, ['keys', 'add'], '--create')
  writeFileSync(files.tokenFile, await addKey(files.main, 'bench', create, files.data), { mode: 0o600 })
  return files
}

/** Adds an API key. @returns its token */
async function addKey(main: string, name: string, flags: readonly string[], data: string): Promise<string> {
  const args = [main, 'keys', 'add', name, ...flags, '--data', data]
  const { stdout } = await run(process.execPath, args, { env: cleanEnvironment })
  return stdout.trim()
}

function headersOf(token: string): Running['headers'] {
  return { authorization: `Apikey ${token}`, 'content-type': 'application/json' }
}

/** A flag, if this revision's command supports it; otherwise empty. */
async function known(main: string, command: readonly string[], flag: string): Promise<readonly string[]> {
  const { stdout } = await run(process.execPath, [main, 'help', ...command], { env: cleanEnvironment })
  return stdout.includes(` ${flag}`) ? [flag] : []
}

/** Whether this revision has the command `import`. */
async function canImport(main: string): Promise<boolean> {
  if (!existsSync(main)) return false
  const { stdout } = await run(process.execPath, [main, '--help'], { env: cleanEnvironment })
  return /^(?:topicd| ) import /m.test(stdout)
}

async function importTree(build: Build, tree: Tree, directory: string): Promise<void> {
  const { main, data } = await prepare(build, directory)
  const unfinished = await known(main, ['import'], '--allow-unfinished')
  const child = spawn(process.execPath, [main, 'import', ...unfinished, '--data', data], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: cleanEnvironment,
  })
  const ended = once(child, 'exit')
  await pipeline(Readable.from(lines(tree)), child.stdin)
  const [code] = await ended
  if (code !== 0) throw new Error(`import exited with ${code}`)
}

/** The tree in the format of an export, many lines at a time. */
function* lines(tree: Tree): Generator<string> {
  for (let i = 0; i < tree.topics; i += linesAtOnce) {
    yield tree
      .items(i, linesAtOnce)
      .map((item) => `${itemText(item)}\n`)
      .join('')
  }
}

/**
 * A fingerprint of the modules that determine how topics and keys are stored, so that data of another format is not reused. Other modules
 * in these folders also change it, which only costs another load. `keys` is a folder of earlier revisions.
 */
async function storeFingerprint(dist: string): Promise<string> {
  const hash = createHash('sha256')
  for (const folder of ['auth', 'keys', 'store', 'topics']) {
    const names = existsSync(join(dist, folder)) ? await readdir(join(dist, folder), { recursive: true }) : []
    for (const name of names.filter((name) => name.endsWith('.js')).sort()) {
      hash.update(name).update(await readFile(join(dist, folder, name)))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
