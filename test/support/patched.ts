/**
 * A copy of the built program with one of its modules replaced, for tests that show that a test can fail. The product has
 * no switch for any fault.
 */
import { cpSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Copies the built program into `directory`.
 *
 * @param module a built module, relative to `dist`
 * @param replacement its new text; what it was before stands beside it, with `sound-` before its name
 * @returns the copy's main.js
 */
export function patchedProgram(directory: string, module: string, replacement: string): string {
  const root = join(import.meta.dirname, '../..')
  const dist = join(directory, 'dist')
  cpSync(join(root, 'dist'), dist, { recursive: true })
  cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  const replaced = join(dist, module)
  renameSync(replaced, join(dirname(replaced), `sound-${basename(replaced)}`))
  writeFileSync(replaced, replacement)
  return join(dist, 'main.js')
}
