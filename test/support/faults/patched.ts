/**
 * A copy of the built program with replaced modules, for tests that plant a fault. The product itself has no switch for any fault.
 */
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { root } from '../documents.js'

/**
 * Copies the built program into `directory` and replaces one of its modules; see `replaceModule`.
 *
 * @returns the copy's main.js
 */
export function patchedProgram(directory: string, module: string, replacement: string): string {
  const program = join(directory, 'dist/main.js')
  cpSync(join(root, 'dist'), dirname(program), { recursive: true })
  cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  replaceModule(program, module, replacement)
  return program
}

/**
 * Replaces another module of a copy.
 *
 * @param program the copy's main.js
 * @param module a built module, relative to `dist`; the original is kept next to it, with the prefix `sound-`
 * @param replacement its new text
 */
export function replaceModule(program: string, module: string, replacement: string): void {
  const replaced = join(dirname(program), module)
  renameSync(replaced, join(dirname(replaced), `sound-${basename(replaced)}`))
  writeFileSync(replaced, replacement)
}

/**
 * Overwrites a module of a copy, replaced before or not, as another build does while the program runs.
 *
 * @param program the copy's main.js
 * @param module a module of the copy, relative to `dist`; it must exist, because a fault planted elsewhere has no effect
 * @param text its new text
 * @returns its previous text
 */
export function overwriteModule(program: string, module: string, text: string): string {
  const file = join(dirname(program), module)
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, text)
  return before
}
