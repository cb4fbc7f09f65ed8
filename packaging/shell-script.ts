/** The shell scripts of the packages: templates in shell/, which include a common part and the build's values. */
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.js'

const shell = join(root, 'packaging/shell')

/**
 * The script of a template, complete.
 *
 * @param values what stands in it as `@name@`
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
