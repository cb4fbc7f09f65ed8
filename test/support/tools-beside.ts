/**
 * The commands of an operator, one after another, beside a service that is killed meanwhile: keys, checks, backups that
 * are restored, and exports that are broken off. A command may fail only if its service died, or the worker that did its
 * work, which its message then says.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from './random.js'
import { mainFile, runCommand, type Server } from './server.js'

const killed = /: process \d+ was ended by SIGKILL\n$/

const everywhere = ['keys', 'check', 'export'] as const

/** Within this time an export is broken off. */
const exportMsMax = 400

/** By then the end of a killed primary has been seen. */
const deathSeenMs = 500

interface ToolsOptions {
  readonly random: Random
  /** An empty directory for backups. */
  readonly directory: string
  /** The store's address; lmdb when undefined. Only lmdb has backups. */
  readonly store: string | undefined
  /** Undefined while there is no service. */
  readonly server: () => Server | undefined
}

export class ToolsBeside {
  /** Commands that succeeded, and exports that were broken off. */
  done = 0
  /** Commands that failed beside a service that lived. */
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
      const tool = random.pick(store === undefined ? [...everywhere, 'backup' as const] : everywhere)
      const fault = await this.#use(tool, beside)
      if (fault === undefined) {
        this.done++
        continue
      }
      await new Promise((resolve) => setTimeout(resolve, deathSeenMs))
      if (beside.running && !killed.test(fault)) this.faults.push(`${tool}: ${fault}`)
    }
  }

  /** @returns what went wrong */
  async #use(tool: (typeof everywhere)[number] | 'backup', beside: Server): Promise<string | undefined> {
    switch (tool) {
      case 'keys': {
        const name = `beside-${++this.#last}`
        return (await failure(beside, 'keys', 'add', name)) ?? (await failure(beside, 'keys', 'revoke', name))
      }
      case 'check':
        return failure(beside, 'check')
      case 'export':
        return breakOff(beside, this.#options.store ?? 'lmdb', this.#options.random.below(exportMsMax))
      case 'backup':
        return this.#backUp(beside)
    }
  }

  async #backUp(beside: Server): Promise<string | undefined> {
    const file = join(this.#options.directory, `backup-${++this.#last}`)
    const fault = await failure(beside, 'backup', file)
    if (fault !== undefined) return fault
    // It checks what it restores.
    const data = `${file}-restored`
    mkdirSync(data)
    const { code, stderr } = await runCommand(['restore', file, '--data', data])
    rmSync(file)
    rmSync(data, { recursive: true, force: true })
    return code === 0 ? undefined : `the backup cannot be restored: ${stderr}`
  }
}

async function failure(beside: Server, ...args: readonly string[]): Promise<string | undefined> {
  const { code, stdout, stderr } = await beside.command(...args)
  return code === 0 ? undefined : `${args.join(' ')} ended with ${code}: ${stdout}${stderr}`
}

/** Kills an export in its middle. */
async function breakOff({ dataDir }: Server, store: string, afterMs: number): Promise<undefined> {
  const env = { ...process.env, TOPICD_STORE: store }
  const child = spawn(process.execPath, [mainFile, 'export', '--data', dataDir], { env, stdio: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), afterMs)
  await once(child, 'close')
  clearTimeout(timer)
}
