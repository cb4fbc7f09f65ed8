/**
 * `topicd keys add|list|revoke`: makes, shows and revokes API keys, while the service runs and while it does not.
 */
import type { ListedKey } from '../cluster/messages.js'
import { parseCommandLine } from '../config.js'
import { exitCodes, fatal } from '../exit-codes.js'
import { hashToken, makeToken } from '../keys/token.js'
import type { KeyRecord, Operation } from '../store/store.js'
import { parsePath, type Path } from '../topics/path.js'
import { ask } from './session.js'
import { whereSettings, whereOf } from './where.js'

const operations: readonly Operation[] = ['fetch', 'set', 'add', 'remove']

const settings = {
  ...whereSettings,
  allow: { kind: 'text', default: operations.join(','), help: 'operations the key may do, with commas between' },
} as const

export const keysHelp = `topicd keys add NAME [--allow fetch,set,add,remove] [--under PATH …] [--data DIR] [--store ADDRESS]
    makes a key and prints its token, alone and only this once
topicd keys list [--data DIR]
    name, operations, subtrees, when made, when last used (to the minute)
topicd keys revoke NAME [--data DIR]
    ends a key: within a second it is refused everywhere`

/** A name that is easy to type, to log and to line up. */
const nameForm = /^[\w.@-]{1,64}$/

export async function runKeys(args: readonly string[]): Promise<void> {
  const { values, lists, rest } = parseCommandLine(args, settings, ['under'])
  const [action, name, ...more] = rest
  const where = whereOf(values)
  if (more.length > 0) fatal(exitCodes.usage, `"${more[0]}" is one argument too many (see topicd --help)`)
  switch (action) {
    case 'add': {
      const token = makeToken()
      const record: KeyRecord = {
        name: nameOf(name),
        tokenHash: hashToken(token),
        allow: operationsOf(values.allow ?? settings.allow.default),
        under: (lists.under ?? []).map(subtreeOf),
        madeMs: Date.now(),
      }
      const added = await ask(where, { about: 'addKey', record })
      if (added !== true) fatal(exitCodes.failed, `there is a key named "${record.name}" already`)
      process.stdout.write(`${token}\n`)
      return
    }
    case 'list':
      return list((await ask(where, { about: 'listKeys' })) as readonly ListedKey[])
    case 'revoke': {
      const revoked = await ask(where, { about: 'revokeKey', name: nameOf(name) })
      if (revoked !== true) fatal(exitCodes.failed, `there is no key named "${name}"`)
      return
    }
    default:
      fatal(exitCodes.usage, `keys ${action ?? ''} is not known; it is keys add, keys list or keys revoke`)
  }
}

function nameOf(name: string | undefined): string {
  if (name === undefined) fatal(exitCodes.usage, 'the key\'s NAME is missing')
  if (!nameForm.test(name)) fatal(exitCodes.usage, `NAME is ${JSON.stringify(name)}; it must be 1 to 64 letters, digits or any of . _ @ -`)
  return name
}

function operationsOf(text: string): readonly Operation[] {
  const allowed = text.split(',').map((word) => operations.find((operation) => operation === word))
  if (allowed.includes(undefined)) fatal(exitCodes.usage, `--allow is "${text}"; it must be some of ${operations.join(',')}`)
  return operations.filter((operation) => allowed.includes(operation))
}

function subtreeOf(text: string): Path {
  const path = parsePath(text)
  return typeof path === 'string' ? path : fatal(exitCodes.usage, `--under ${JSON.stringify(text)} ${path.problem}`)
}

function list(keys: readonly ListedKey[]): void {
  const time = (ms: number | undefined): string => (ms === undefined ? 'never' : new Date(ms).toISOString().slice(0, 16) + 'Z')
  const rows = keys.map(({ name, allow, under, madeMs, usedMs }) => [
    name,
    allow.join(','),
    under.length === 0 ? '(all)' : under.join(' '),
    time(madeMs),
    time(usedMs),
  ])
  rows.unshift(['NAME', 'MAY', 'UNDER', 'MADE', 'LAST USED'])
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  for (const row of rows) process.stdout.write(`${row.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd()}\n`)
}
