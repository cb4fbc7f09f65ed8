/**
 * `topicd keys add|list|revoke`: makes, lists and revokes API keys, whether the service runs or not.
 */
import { hashToken, makeToken } from '../auth/token.js'
import type { ListedKey } from '../cluster/messages.js'
import { addNewKey, persistently, readKeys, type SendQuestion } from '../cluster/new-key.js'
import { type Config, readConfig, UsageError } from '../config.js'
import { exitCodes, fatal } from '../exit-codes.js'
import { quoted } from '../quoted.js'
import type { KeyRecord, Operation } from '../store/store.js'
import { type Path, parsePath } from '../topics/path.js'
import { aligned } from './columns.js'
import { type Command, storeSettings } from './command.js'
import { OutputClosed, print } from './stdout.js'
import { ask } from './store-client.js'

const operations: readonly Operation[] = ['fetch', 'set', 'add', 'remove']

/** The widest column of a list: one key with many subtrees must not make every other line as long. */
const columnCharactersMax = 64

/**
 * How long an unanswered request for a new key is repeated: a dead worker is replaced in seconds, a hanging one after
 * 20 s.
 */
const addMsMax = 30_000

/** A name that is easy to type, to log and to align in a table. */
const nameForm = /^[\w.@-]{1,64}$/

export const addKey: Command = {
  summary: 'makes an API key and prints its token, only this once',
  details: 'NAME is 1 to 64 letters, digits or any of . _ @ -. With no further flags the key may do everything.',
  operands: ['NAME'],
  settings: storeSettings,
  flags: {
    allow: {
      kind: 'text',
      value: 'LIST',
      default: operations.join(','),
      help: 'operations that the key may do, separated by commas',
      check: operationsProblem,
    },
    under: {
      kind: 'text',
      value: 'PATH',
      default: '',
      isList: true,
      help: 'subtree that the key may touch, everything by default; may be repeated',
      check: pathProblem,
    },
  },
  async run({ settings, flags, list, operand }) {
    const name = checkedName(operand('NAME'))
    const token = makeToken()
    const allowed = flags.allow?.split(',') ?? []
    const record: KeyRecord = {
      name,
      tokenHash: hashToken(token),
      allow: operations.filter((operation) => allowed.includes(operation)),
      under: list('under').map(checkedPath),
      madeMs: Date.now(),
    }
    await add(readConfig(settings), record, token)
  },
}

/**
 * The token is written before the key exists. So if the command is ended in between, no key remains whose token was
 * never shown, and a token without a key comes only with an exit status other than 0. A token is reported as void only
 * when its key cannot be made any more: a worker that gave no answer may have made it, or may still make it.
 */
async function add(config: Config, record: KeyRecord, token: string): Promise<void> {
  const taken = `there is a key named "${record.name}" already`
  // Creates the store if there is none, so that its creation cannot fail once the token is printed.
  const known = await readKeys((question) => ask(config, question, true))
  if (known.some(({ name }) => name === record.name)) fatal(exitCodes.failed, taken)
  await print(`${token}\n`).catch((error: Error) =>
    fatal(
      exitCodes.failed,
      `${error instanceof OutputClosed ? 'nobody reads standard output' : error.message}; no key was made`,
    ),
  )
  const repeatedly: SendQuestion = persistently((question) => ask(config, question), addMsMax)
  const isAdded = await addNewKey(repeatedly, record).catch((error: Error) => {
    const unknown = 'it is not known whether the key was made, and its token may be valid'
    fatal(exitCodes.failed, `${error.message}; ${unknown}: topicd keys revoke ${record.name} makes sure that it is not`)
  })
  if (!isAdded) fatal(exitCodes.failed, `${taken}; the token that was just printed is void`)
}

export const listKeys: Command = {
  summary: 'lists the API keys',
  details: 'For each: its name, operations, subtrees, when it was made, and when it was last used, to the minute.',
  operands: [],
  settings: storeSettings,
  flags: { json: { kind: 'switch', default: 'false', help: 'print a line of JSON for each key' } },
  async run({ settings, flags }) {
    const config = readConfig(settings)
    const keys = await readKeys((question) => ask(config, question))
    await print(flags.json === 'true' ? keys.map(jsonLine).join('') : table(keys))
  },
}

export const revokeKey: Command = {
  summary: 'ends an API key',
  details: 'Within a second it is refused everywhere.',
  operands: ['NAME'],
  settings: storeSettings,
  flags: {},
  async run({ settings, operand }) {
    const name = checkedName(operand('NAME'))
    const revoked = await ask(readConfig(settings), { about: 'revokeKey', name })
    if (revoked !== true) fatal(exitCodes.failed, `there is no key named "${name}"`)
  },
}

function checkedName(name: string): string {
  if (nameForm.test(name)) return name
  throw new UsageError(`NAME is ${quoted(name)}; it must be 1 to 64 letters, digits or any of . _ @ -`)
}

function operationsProblem(text: string): string | undefined {
  const words = text.split(',')
  const areKnown = words.every((word) => operations.some((operation) => operation === word))
  return areKnown && new Set(words).size === words.length
    ? undefined
    : `must be some of ${operations.join(',')}, each once`
}

function checkedPath(text: string): Path {
  const path = parsePath(text)
  if (typeof path === 'string') return path
  throw new UsageError(`--under ${path.problem}`)
}

function pathProblem(text: string): string | undefined {
  const path = parsePath(text)
  return typeof path === 'string' ? undefined : path.problem
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

function jsonLine({ name, allow, under, madeMs, usedMs }: ListedKey): string {
  return `${JSON.stringify({ name, allow, under, made: isoTime(madeMs), used: isoTime(usedMs) ?? null })}\n`
}

function table(keys: readonly ListedKey[]): string {
  const time = (ms: number | undefined): string => isoTime(ms)?.replace(/:\d\d\.\d+Z$/, 'Z') ?? 'never'
  const rows = keys.map(({ name, allow, under, madeMs, usedMs }) => [
    name,
    allow.join(','),
    under.length === 0 ? '(all)' : under.join(' '),
    time(madeMs),
    time(usedMs),
  ])
  return aligned([['NAME', 'MAY', 'UNDER', 'MADE', 'LAST USED'], ...rows], columnCharactersMax)
}
