/**
 * A copy of the built program in which modules are replaced, for tests that plant a fault. The product itself has no
 * switch for any fault.
 */
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Copies the built program into `directory` and replaces one of its modules; see `replaceModule`.
 *
 * @returns the copy's main.js
 */
export function patchedProgram(directory: string, module: string, replacement: string): string {
  const root = join(import.meta.dirname, '../../..')
  const program = join(directory, 'dist/main.js')
  cpSync(join(root, 'dist'), dirname(program), { recursive: true })
  cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  replaceModule(program, module, replacement)
  return program
}

/**
 * Replaces one more module of a copy.
 *
 * @param program the copy's main.js
 * @param module a built module, relative to `dist`; the original is kept beside it, with `sound-` before its name
 * @param replacement its new text
 */
export function replaceModule(program: string, module: string, replacement: string): void {
  const replaced = join(dirname(program), module)
  renameSync(replaced, join(dirname(replaced), `sound-${basename(replaced)}`))
  writeFileSync(replaced, replacement)
}

/**
 * Overwrites one module of a copy, also one that was replaced before, as another build does while the program runs.
 *
 * @param program the copy's main.js
 * @param module a module of the copy, relative to `dist`; there must be one, since a fault planted elsewhere does nothing
 * @param text its new text
 * @returns its text before
 */
export function overwriteModule(program: string, module: string, text: string): string {
  const file = join(dirname(program), module)
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, text)
  return before
}
