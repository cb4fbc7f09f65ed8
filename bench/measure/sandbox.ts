/**
 * Sandboxes: each is a server running in its own directory, on a real disk, with the tree of the workload. Loading a big tree takes a
 * minute, so a loaded directory is kept as a template. Every sandbox is a fresh copy of it, so no workload sees the writes of another.
 */
import { constants } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Running, Server, Setting } from '../servers/server.js'
import type { Operation } from '../workloads/operation.js'
import type { Tree } from '../workloads/tree.js'
import { forEachConcurrently, send } from './http.js'

/** Requests in flight while a tree is loaded: many, so that they share flushes. */
const loadInFlightMax = 512

/** Time without use after which a template is removed: when a store's format changes, its old template becomes useless. */
const unusedMsMax = 48 * 3_600_000

/** Options of sandboxes. */
export interface SandboxOptions {
  /** Directory of the templates, which outlive the run. */
  readonly kept: string
  /** Directory of the sandboxes, which do not outlive the run. */
  readonly temporary: string
  readonly print: (text: string) => void
}

/** A running server with the tree. */
export interface Sandbox {
  readonly running: Running
  /** Stops the server and removes its directory. */
  close(): Promise<void>
}

/** Starts a server on a fresh copy of a directory with the tree. Leaves nothing behind on failure. */
export async function openSandbox(
  server: Server,
  tree: Tree,
  setting: Omit<Setting, 'directory'>,
  options: SandboxOptions,
): Promise<Sandbox> {
  await mkdir(options.temporary, { recursive: true })
  const directory = await mkdtemp(join(options.temporary, 'sandbox-'))
  try {
    if (server.dataFormat !== undefined) {
      await copy(await template(server, server.dataFormat, tree, options), directory)
    }
    const running = await server.start({ ...setting, directory })
    return {
      running,
      close: async () => {
        await running.stop()
        await rm(directory, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}

/** Removes templates that have not been used for two days, and the remains of interrupted loads. */
export async function removeUnused(kept: string): Promise<void> {
  const names = await readdir(kept).catch(() => [])
  for (const name of names) {
    const status = await stat(join(kept, name)).catch(() => undefined)
    if (status !== undefined && Date.now() - status.mtimeMs > unusedMsMax)
      await rm(join(kept, name), { recursive: true, force: true })
  }
}

/**
 * Performs operations, many at a time.
 *
 * @throws Error if a response is not 2xx, unless `lenient`
 */
export async function perform(running: Running, operations: Iterable<Operation>, lenient: boolean): Promise<void> {
  await forEachConcurrently(operations, loadInFlightMax, async (operation, agent) => {
    const exchange = running.exchange(operation)
    if (exchange === undefined) throw new Error(`${operation.kind} is not supported`)
    const { status, body } = await send(running.port, running.headers, exchange, agent)
    if (!lenient && (status < 200 || status > 299)) {
      throw new Error(`${operation.kind} returned ${status}: ${body}`)
    }
  })
}

/** The directory to copy, loaded first if it does not exist. Its modification time is the time of its last use. */
async function template(server: Server, format: string, tree: Tree, options: SandboxOptions): Promise<string> {
  const loaded = join(options.kept, `${format}-${tree.topics}-${tree.group}-${tree.valueBytes}`)
  if (!(await exists(loaded))) await load(server, tree, loaded, options)
  const now = new Date()
  await utimes(loaded, now, now)
  return loaded
}

/** Loads into another directory and renames it, so that an interrupted load never becomes a template. */
async function load(server: Server, tree: Tree, loaded: string, options: SandboxOptions): Promise<void> {
  options.print(`loading ${tree.topics.toLocaleString('en')} topics of ${tree.valueBytes} bytes into ${server.name} …`)
  await mkdir(options.kept, { recursive: true })
  const directory = await mkdtemp(join(options.kept, 'loading-'))
  try {
    if (server.load !== undefined) await server.load(tree, directory)
    else await loadOverHttp(server, tree, directory)
    await rename(directory, loaded)
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}

/** Loads over HTTP, many requests at a time. */
async function loadOverHttp(server: Server, tree: Tree, directory: string): Promise<void> {
  const running = await server.start({ workers: 1, responseBytes: 0, directory })
  await perform(running, creations(tree), false).finally(() => running.stop())
}

function* creations(tree: Tree): Generator<Operation> {
  for (let i = 0; i < tree.topics; i++) yield { kind: 'create', path: tree.path(i), value: tree.value(i) }
}

/** Copies regular files only (a stopped server may have left a socket), sharing blocks where the file system can. */
async function copy(from: string, to: string): Promise<void> {
  const filter = async (source: string): Promise<boolean> => {
    const status = await stat(source)
    return status.isFile() || status.isDirectory()
  }
  await cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE, filter })
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}
