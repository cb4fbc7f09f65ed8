/**
 * An operator's commands, run one at a time against a service that is being killed: keys, checks, backups that are restored and compared,
 * and exports. A command may fail only with a message that the service, or the process that did its work, died; and only if a process was
 * killed during the command or has not been replaced yet.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../random.js'
import { runCommand, type Server } from '../service/server.js'
import type { UniformSubtree } from './uniform-subtrees.js'

/** The message of a command if the writers died before it. */
const nobody = /: no writer or worker is running at the moment\n$/

/** The messages of a command if the process to which it was connected has died. */
const deaths = [
  /: process \d+ was killed by SIGKILL( before it opened the store: .*)?\n$/,
  /: the service stopped before the work was complete\n$/,
  /: the service that uses \S+ did not respond\n$/,
  nobody,
  /: the service's process doing the work died before it finished: /,
]

const everywhere = ['keys', 'check', 'export'] as const
type Tool = (typeof everywhere)[number] | 'backup'

/** The end of a message that says what became of a key. */
const consequence = /; (the key (may|was)|no key was) [^\n]*(?=\n$)/

interface ToolsOptions {
  readonly random: Random
  /** An empty directory for backups. */
  readonly directory: string
  /** The store's address; undefined for lmdb. Only lmdb has backups. */
  readonly store: string | undefined
  /** Undefined while there is no service. */
  readonly server: () => Server | undefined
  /** Number of processes killed so far. */
  readonly kills: () => number
  /** Whether every killed process has been replaced. */
  readonly isWhole: () => boolean
  /** Topics that never change: their number, under one path. */
  readonly constant: { readonly under: string; readonly count: number }
  readonly subtrees: readonly UniformSubtree[]
}

export class ToolsBeside {
  /** Commands that succeeded. */
  readonly done: Record<Tool, number> = { keys: 0, check: 0, export: 0, backup: 0 }
  /** Commands that failed because a process died. */
  excused = 0
  /** Faults of all other commands. */
  readonly faults: string[] = []
  readonly #options: ToolsOptions
  #last = 0
  #isStopping = false
  #loop: Promise<void> | undefined

  constructor(options: ToolsOptions) {
    this.#options = options
    mkdirSync(options.directory, { recursive: true })
  }

  start(): void {
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
  }

  async #run(): Promise<void> {
    const { random, store, server } = this.#options
    while (!this.#isStopping) {
      const beside = server()
      if (beside === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        continue
      }
      await this.#use(random.pick(store === undefined ? [...everywhere, 'backup' as const] : everywhere), beside)
    }
  }

  async #use(tool: Tool, beside: Server): Promise<void> {
    const kills = this.#options.kills()
    const wasWhole = this.#options.isWhole()
    const failure = await this.#failure(tool, beside)
    if (failure === undefined) this.done[tool]++
    else if (this.#options.kills() > kills && deaths.some((death) => death.test(failure))) this.excused++
    else if (!wasWhole && nobody.test(failure)) this.excused++
    else this.faults.push(`${tool}: ${failure}`)
  }

  /** @returns the output of a failed command */
  async #failure(tool: Tool, beside: Server): Promise<string | undefined> {
    if (tool === 'backup') return this.#backUp(beside)
    if (tool !== 'keys') return failureOf(beside, tool)
    const name = `beside-${++this.#last}`
    return (await failureOf(beside, 'keys', 'add', name)) ?? (await failureOf(beside, 'keys', 'revoke', name))
  }

  async #backUp(beside: Server): Promise<string | undefined> {
    const file = join(this.#options.directory, `backup-${++this.#last}`)
    const from = this.#options.subtrees.map(({ acknowledged }) => acknowledged)
    const failure = await failureOf(beside, 'backup', file)
    if (failure !== undefined) return failure
    const to = this.#options.subtrees.map(({ sent }) => sent)
    const data = `${file}-restored`
    mkdirSync(data)
    try {
      const { code, stderr } = await runCommand(['restore', file, '--data', data])
      if (code === 0) await this.#compare(data, from, to)
      else this.faults.push(`a backup cannot be restored: ${stderr}`)
    } finally {
      rmSync(file)
      rmSync(data, { recursive: true, force: true })
    }
    return undefined
  }

  /** Compares a restored backup with the state of the store while the backup was created. */
  async #compare(data: string, from: readonly number[], to: readonly number[]): Promise<void> {
    const { subtrees, constant } = this.#options
    const { code, stdout, stderr } = await runCommand(['export', '--data', data])
    if (code !== 0) return void this.faults.push(`a restored backup cannot be exported: ${stderr}`)
    const topics = stdout.split('\n').filter(Boolean)
    const values = new Map(topics.map((line) => [pathOf(line), (JSON.parse(line) as { value?: unknown }).value]))
    const under = (path: string): readonly unknown[] =>
      [...values].filter(([topic]) => topic?.startsWith(`${path}/`)).map(([, value]) => value)
    const { length } = under(constant.under)
    if (length !== constant.count) this.faults.push(`a backup has ${length} of ${constant.count} topics`)
    for (const [i, subtree] of subtrees.entries()) {
      const page = under(subtree.path) as readonly number[]
      const faults = subtree.faults(page, { from: from[i] ?? 0, to: to[i] ?? 0 })
      this.faults.push(...faults.map((fault) => `in a backup: ${fault}`))
    }
  }
}

/** The path in a line of an export; undefined if the line is not a topic. */
function pathOf(line: string): string | undefined {
  return (JSON.parse(line) as { path?: string }).path
}

/** @returns the output of a failed command, without the consequence for a key */
async function failureOf(beside: Server, ...args: readonly string[]): Promise<string | undefined> {
  const { code, stdout, stderr } = await beside.command(...args)
  return code === 0 ? undefined : `${args.join(' ')} exited with ${code}: ${stdout}${stderr.replace(consequence, '')}`
}
