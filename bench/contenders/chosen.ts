/** The choice of contenders by the names on the command line. */
import { UsageError } from '../options.js'
import type { Contender } from './contender.js'

/**
 * The named contenders; without names, all that can run, and a line on standard error for each that cannot.
 *
 * @param required the name of one that must be able to run, named or not
 * @throws UsageError when a name is unknown, or a named or required contender cannot run
 */
export function contendersNamed(
  all: readonly Contender[],
  names: readonly string[] | undefined,
  required?: string,
): Contender[] {
  for (const name of names ?? []) {
    if (!all.some((contender) => hasName(contender, name))) throw new UsageError(`unknown contender "${name}"`)
  }
  const wanted = names === undefined ? all : all.filter((contender) => names.some((name) => hasName(contender, name)))
  for (const { name, missing } of wanted) {
    if (missing === undefined) continue
    if (name === required || names !== undefined) throw new UsageError(`${name} cannot run: ${missing}`)
    console.error(`LEFT OUT: ${name}: ${missing}`)
  }
  return wanted.filter(({ missing }) => missing === undefined)
}

/** Whether it is called this, or this is the first word of its name. */
function hasName(contender: Contender, name: string): boolean {
  return contender.name === name || contender.name.split(' ')[0] === name
}
