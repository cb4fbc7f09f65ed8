/**
 * Homes: a directory for each contender that runs, on a real disk, holding the tree of the workload. Loading a big tree
 * takes a minute, so a loaded home is kept and copied; every run gets a fresh copy, so that no workload sees what another
 * one wrote.
 */

import { constants } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Contender, Running, Setting } from '../contenders/contender.js'
import type { Operation } from '../work/operation.js'
import type { Tree } from '../work/tree.js'
import { ask, forEachAsked } from './http.js'

/** Requests outstanding while a tree is loaded: many, so that they share flushes. */
const loadOutstandingMax = 512

/** Kept homes that no run has used for two days are removed: a revision of the store with another format has its own. */
const unusedMsMax = 48 * 3_600_000

/** Where homes come from and go to. */
export interface Homes {
  /** Loaded homes are kept here, between runs too. */
  readonly kept: string
  /** Homes in use; removed afterwards. */
  readonly temporary: string
  readonly say: (text: string) => void
}

/** A running contender that holds the tree, and how to be rid of it. */
export interface Housed {
  readonly running: Running
  /** Stops the contender and removes its home. */
  close(): Promise<void>
}

/** Starts a contender on a fresh copy of a home that holds the tree. */
export async function house(
  contender: Contender,
  tree: Tree,
  setting: Omit<Setting, 'home'>,
  homes: Homes,
): Promise<Housed> {
  await mkdir(homes.temporary, { recursive: true })
  const home = await mkdtemp(join(homes.temporary, 'home-'))
  try {
    if (contender.homeKey !== undefined) {
      const loaded = join(homes.kept, `${contender.homeKey}-${tree.topics}-${tree.group}-${tree.valueBytes}`)
      if (!(await exists(loaded))) await load(contender, tree, loaded, homes)
      const now = new Date()
      await utimes(loaded, now, now)
      await copy(loaded, home)
    }
    const running = await contender.start({ ...setting, home })
    return {
      running,
      close: async () => {
        await running.stop()
        await rm(home, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/** Removes kept homes that have not been used for a while, and what is left of loads that were broken off. */
export async function removeUnused(kept: string): Promise<void> {
  const names = await readdir(kept).catch(() => [])
  for (const name of names) {
    const found = await stat(join(kept, name)).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > unusedMsMax)
      await rm(join(kept, name), { recursive: true, force: true })
  }
}

/** Makes the operations come true, many at a time; with `lenient` answers do not matter. */
export async function perform(running: Running, operations: Iterable<Operation>, lenient: boolean): Promise<void> {
  await forEachAsked(operations, loadOutstandingMax, async (operation, agent) => {
    const exchange = running.exchange(operation)
    if (exchange === undefined) throw new Error(`${operation.kind} cannot be done`)
    const answer = await ask(running.port, running.headers, exchange, agent)
    if (!lenient && (answer.status < 200 || answer.status > 299)) {
      throw new Error(`${operation.kind} was answered with ${answer.status}: ${answer.body}`)
    }
  })
}

async function load(contender: Contender, tree: Tree, loaded: string, homes: Homes): Promise<void> {
  homes.say(`loading ${tree.topics.toLocaleString('en')} topics of ${tree.valueBytes} bytes into ${contender.name} …`)
  await mkdir(homes.kept, { recursive: true })
  const home = await mkdtemp(join(homes.kept, 'loading-'))
  try {
    await (contender.load ?? loadThrough(contender))(tree, home)
    await rename(home, loaded)
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/** Loading as any client would: over HTTP, many requests at a time. */
function loadThrough(contender: Contender): (tree: Tree, home: string) => Promise<void> {
  return async (tree, home) => {
    const running = await contender.start({ workers: 1, answerBytes: 0, home })
    await perform(running, creations(tree), false).finally(() => running.stop())
  }
}

function* creations(tree: Tree): Generator<Operation> {
  for (let i = 0; i < tree.topics; i++) yield { kind: 'create', path: tree.path(i), value: tree.value(i) }
}

/** Copies regular files only (a stopped server may have left a socket), sharing blocks where the file system can. */
async function copy(from: string, to: string): Promise<void> {
  const filter = async (source: string): Promise<boolean> => {
    const { isFile, isDirectory } = await stat(source).then((found) => ({
      isFile: found.isFile(),
      isDirectory: found.isDirectory(),
    }))
    return isFile || isDirectory
  }
  await cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE, filter })
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}
