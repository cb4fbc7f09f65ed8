/** The choice of servers by name on the command line. */
import { UsageError } from '../options.js'
import type { Server } from './server.js'

/**
 * The named servers or, without names, all that can run, with a line on standard error for each that cannot.
 *
 * @param required the name of a server that must be able to run, named or not
 * @throws UsageError if a name is unknown, or a named or required server cannot run
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

/** Whether `name` is the server's name or its first word. */
function hasName(server: Server, name: string): boolean {
  return server.name === name || server.name.split(' ')[0] === name
}
