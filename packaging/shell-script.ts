/** Builds the shell scripts of the packages from the templates in shell/, with a common part and values from the build. */
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.js'

const shell = join(root, 'packaging/shell')

/**
 * Returns the complete script of a template.
 *
 * @param values for the placeholders `@name@`
 */
export function shellScript(name: string, values: Readonly<Record<string, string>> = {}): string {
  const common = readFileSync(join(shell, 'common.sh'), 'utf8')
  const text = readFileSync(join(shell, `${name}.sh`), 'utf8').replace('#include common.sh\n', () => `\n${common}`)
  return text.replace(/@(\w+)@/g, (_, value: string) => {
    const found = values[value]
    assert(found !== undefined, `${name}.sh needs a value for ${value}`)
    return found
  })
}
