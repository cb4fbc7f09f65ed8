/**
 * A command whose output a test reads, leaves unread or closes; and the processes that work for it.
 */
import { strict as assert } from 'node:assert'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import { childrenOf, commandLine } from '../machines/processes.js'
import { tied } from '../tied.js'
import { type CommandResult, mainFile, runCommand, until } from './server.js'

export interface Running {
  readonly child: ChildProcess
  /** Standard output, which stays unread unless the test reads it. */
  readonly stdout: Readable
  /** Resolves when the command has exited, with the standard error read until then. */
  readonly ended: Promise<Omit<CommandResult, 'stdout'>>
}

/** Starts a command, which is killed when the test ends if it is still running. */
export function startCommand(
  t: Test,
  args: readonly string[],
  program = mainFile,
  more: NodeJS.ProcessEnv = {},
): Running {
  const env = { ...process.env, TOPICD_STORE: 'lmdb', ...more }
  const child = spawn(...tied(process.execPath, [program, ...args]), { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  assert(child.stdout !== null && child.stderr !== null)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ends = Promise.all([once(child, 'exit'), once(child.stderr, 'end')])
  const ended = ends.then(([[code]]) => ({ code: code as number | null, stderr }))
  return { child, stdout: child.stdout, ended }
}

/** An import whose standard input is the file itself, not a pipe. */
export async function importFrom(
  file: string,
  data: string,
  ...flags: readonly string[]
): Promise<Omit<CommandResult, 'stdout'>> {
  const input = openSync(file, 'r')
  const { code, stderr } = await runCommand(['import', ...flags, '--data', data], {}, input)
  closeSync(input)
  return { code, stderr }
}

/** Resolves when the first output has arrived; all of it stays unread. */
export async function begun({ stdout }: Running): Promise<void> {
  await once(stdout, 'readable')
}

/** The process that does a tool's work: the child of `parent` that runs cluster/tool/tool-process.js. */
export async function toolOf(parent: number): Promise<number> {
  return until('the tool has a process', async () => childrenOf(parent).find(isTool))
}

/** Resolves when the process has exited. */
export async function gone(pid: number): Promise<void> {
  await until(`process ${pid} has exited`, async () => (commandLine(pid) === '' ? true : undefined))
}

function isTool(pid: number): boolean {
  return commandLine(pid).includes('/cluster/tool/tool-process.js')
}
