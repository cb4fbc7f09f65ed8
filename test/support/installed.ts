/** Programs in other languages that tests run as clients (clients/), if they are installed. */
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './documents.js'

/** The source of a client. */
export const clientFile = (name: string): string => join(root, 'test/support/clients', name)

/** Why a command cannot run here; false if it can. */
export function missing(command: string, ...args: readonly string[]): string | false {
  const { error, status } = spawnSync(command, args, { stdio: 'ignore', timeout: 600_000 })
  const runs = error === undefined && status === 0
  return runs ? false : `${[command, ...args].join(' ')} does not run here: NOT tested`
}

/** A Python with the library: Debian's packages belong to Debian's Python, which may not be the first one in PATH. */
export function pythonWith(library: string): { readonly python: string; readonly skip: string | false } {
  const found = ['python3', '/usr/bin/python3'].find((python) => missing(python, '-c', `import ${library}`) === false)
  return {
    python: found ?? '',
    skip: found === undefined && `Python has no ${library} here: this client was NOT tested`,
  }
}

/** Runs a compiler. */
export function compiled(compiler: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(compiler, args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}
