/** `topicd keys list`: every API key, as a table or as lines of JSON, without tokens or their hashes. */
import { isoTime, oldTokenExpiresMs, shownTime } from '../../keys/expiry.js'
import type { ListedKey } from '../../keys/record.js'
import { readConfig } from '../../settings/config.js'
import { aligned } from '../columns.js'
import { command, storeSettings } from '../command.js'
import { print } from '../stdout.js'
import { requestsTo } from '../store/store-client.js'

/** Maximum width of a column: one key with many subtrees must not widen every other line. */
const columnCharactersMax = 64

export const listKeys = command({
  summary: 'lists the API keys',
  details:
    'For each key, the list shows its name, permissions and subtrees, and the times of its creation and last use, to the minute. Expiry, rate, and the expiry of the previous token are shown if any key has them.',
  operands: [],
  settings: storeSettings,
  flags: { json: { kind: 'switch', default: 'false', help: 'print one line of JSON per key' } },
  async run({ settings, flags }) {
    const config = readConfig(settings)
    const keys = await requestsTo(config)({ command: 'listKeys' })
    await print(flags.json ? keys.map(jsonLine).join('') : table(keys))
  },
})

/** The JSON omits limits that a key does not have. */
function jsonLine(key: ListedKey): string {
  const { name, allow, under, madeMs, usedMs, expiresMs, rate } = key
  const limits = { expires: isoTime(expiresMs), rate, oldTokenUntil: isoTime(oldTokenExpiresMs(key)) }
  return `${JSON.stringify({ name, allow, under, made: isoTime(madeMs), used: isoTime(usedMs) ?? null, ...limits })}\n`
}

const noLimit = '-'

const expiryCell = (ms: number | undefined): string => (ms === undefined ? noLimit : shownTime(ms))

/** Columns for limits, each shown only if a key has that limit. */
const limitColumns: readonly (readonly [head: string, cell: (key: ListedKey) => string])[] = [
  ['EXPIRES', ({ expiresMs }) => expiryCell(expiresMs)],
  ['RATE', ({ rate }) => (rate === undefined ? noLimit : `${rate}/s`)],
  ['OLD TOKEN UNTIL', (key) => expiryCell(oldTokenExpiresMs(key))],
]

/** Uses are stored once a minute, so a key without a stored use may have been used within the last minute. */
const noUse = 'never, or within the last minute'

function table(keys: readonly ListedKey[]): string {
  const time = (ms: number | undefined): string => isoTime(ms)?.replace(/:\d\d\.\d+Z$/, 'Z') ?? noUse
  const limits = limitColumns.filter(([, cell]) => keys.some((key) => cell(key) !== noLimit))
  const rows = keys.map((key) => [
    key.name,
    key.allow.join(','),
    key.under.length === 0 ? '(all)' : key.under.join(' '),
    time(key.madeMs),
    time(key.usedMs),
    ...limits.map(([, cell]) => cell(key)),
  ])
  const heads = ['NAME', 'PERMISSIONS', 'UNDER', 'CREATED', 'LAST USED', ...limits.map(([head]) => head)]
  return aligned([heads, ...rows], columnCharactersMax)
}
