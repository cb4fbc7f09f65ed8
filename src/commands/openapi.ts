/**
 * `topicd openapi`: prints the description of the API.
 */
import { describeApi } from '../api/description.js'
import { parseCommandLine, serveSettings, UsageError } from '../config.js'
import { version } from '../version.js'

const settings = { 'base-path': serveSettings['base-path'] } as const

export const openapiHelp = `topicd openapi [--base-path PATH]
    prints the OpenAPI 3.1 description of the routes; the admin listener serves it as /openapi.json`

export async function runOpenapi(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, settings)
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many (see topicd --help)`)
  const basePath = (values['base-path'] ?? settings['base-path'].default).replace(/\/$/, '')
  process.stdout.write(`${JSON.stringify(describeApi(basePath, version), undefined, 2)}\n`)
}
