/** `topicd openapi`: prints the description of the API. */
import { describeApi } from '../api/openapi/openapi.js'
import { version } from '../base/version.js'
import { readConfig } from '../settings/config.js'
import { command } from './command.js'
import { print } from './stdout.js'

export const openapi = command({
  summary: 'prints the OpenAPI 3.1 description of the API',
  details: 'The admin listener serves it as /openapi.json.',
  operands: [],
  settings: ['base-path', 'page-size-max', 'batch-operations-max', 'settings'],
  flags: {},
  run({ settings }) {
    const { basePath, pageSizeMax, batchOperationsMax } = readConfig(settings)
    const description = describeApi({ basePath, pageSizeMax, batchOperationsMax, version })
    return print(`${JSON.stringify(description, undefined, 2)}\n`)
  },
})
