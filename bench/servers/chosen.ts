/** The choice of servers by the names on the command line. */
import { UsageError } from '../options.js'
import type { Server } from './server.js'

/**
 * The named servers; without names, all that can run, and a line on standard error for each that cannot.
 *
 * @param required the name of one that must be able to run, named or not
 * @throws UsageError when a name is unknown, or a named or required server cannot run
 */
export function serversNamed(
  all: readonly Server[],
  names: readonly string[] | undefined,
  required?: string,
): Server[] {
  for (const name of names ?? []) {
    if (!all.some((server) => hasName(server, name))) throw new UsageError(`unknown server "${name}"`)
  }
  const wanted = names === undefined ? all : all.filter((server) => names.some((name) => hasName(server, name)))
  for (const { name, missing } of wanted) {
    if (missing === undefined) continue
    if (name === required || names !== undefined) throw new UsageError(`${name} cannot run: ${missing}`)
    console.error(`LEFT OUT: ${name}: ${missing}`)
  }
  return wanted.filter(({ missing }) => missing === undefined)
}

/** Whether it is called this, or this is the first word of its name. */
function hasName(server: Server, name: string): boolean {
  return server.name === name || server.name.split(' ')[0] === name
}
