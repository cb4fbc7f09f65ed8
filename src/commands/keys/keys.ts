/**
 * `topicd keys add|revoke`: creates and revokes API keys, whether the service is running or not. list-keys.ts lists keys,
 * and rotate-key.ts rotates them.
 */
import { hashToken, makeToken, readTokenFile } from '../../auth/token.js'
import { exitCodes } from '../../base/exit-codes.js'
import { complain, fatal } from '../../base/stderr.js'
import { parseExpiry } from '../../keys/expiry.js'
import {
  type KeyRecord,
  keyNameForm,
  operations,
  parseRights,
  type Right,
  rights,
  rightsProblem,
} from '../../keys/record.js'
import { NothingDone, type SendKeyRequest } from '../../keys/requests.js'
import { ownerOf } from '../../keys/rotation.js'
import { isExclusive } from '../../settings/address.js'
import { type Config, readConfig, UsageError } from '../../settings/config.js'
import { keyRateMax } from '../../settings/limits.js'
import type { Problem } from '../../settings/table.js'
import { parsePath } from '../../topics/path.js'
import { command, storeSettings } from '../command.js'
import { MissingStore, requestsTo } from '../store/store-client.js'
import { checkedName } from './key-name.js'
import { issueToken } from './new-token.js'

/**
 * Time until a pending revocation reports the possible reason for the wait, in ms: longer than the delay that a hung worker causes
 * (cluster/primary/api-keys.ts), shorter than the time for which a writer may hang.
 */
const waitingMs = 6000

export const addKey = command({
  summary: 'creates an API key and prints its token, which is not shown again',
  details: `NAME is ${keyNameForm}. Without flags, the key has all permissions on all topics. With --token-file, nothing is printed.`,
  operands: ['NAME'],
  settings: storeSettings,
  flags: {
    allow: {
      kind: 'text',
      value: 'LIST',
      default: operations.join(','),
      help: 'permissions of the key, separated by commas; with admin, it can also administer API keys in the console, and cannot be restricted to subtrees',
      parse: parseAllow,
    },
    under: {
      kind: 'text',
      value: 'PATH',
      default: '',
      isList: true,
      help: 'subtree that the key can access; by default, all topics; may be repeated',
      parse: parsePath,
    },
    expires: {
      kind: 'text',
      value: 'WHEN',
      default: '',
      help: 'expiry of the key, never by default: a period such as 30d (a whole number and s, m, h or d), or a UTC time such as 2027-01-31 or 2027-01-31T12:00:00Z',
      parse: (text: string) => parseExpiry(text),
    },
    rate: {
      kind: 'number',
      default: '',
      min: 1,
      max: keyRateMax,
      help: `maximum requests per second, 1 to ${keyRateMax}, unlimited by default; each of W workers allows N / W to the connections that it serves`,
    },
    'token-file': {
      kind: 'text',
      value: 'FILE',
      default: '',
      help: 'file that contains the token to use, of at least 128 random bits; by default, a token is generated',
    },
    create: { kind: 'switch', default: 'false', help: 'create a store if the data directory has none' },
  },
  async run({ settings, flags, operand }) {
    const name = checkedName(operand('NAME'))
    const refused = rightsProblem(flags)
    if (refused !== undefined) throw new UsageError(`--allow and --under: ${refused}`)
    const file = flags['token-file']
    const token = file === undefined ? makeToken() : checkedToken(file)
    const { allow, under, expires: expiresMs, rate } = flags
    const record = { name, tokenHash: hashToken(token), allow, under, madeMs: Date.now(), expiresMs, rate }
    await addKeyOrEnd(readConfig(settings), record, flags.create, file === undefined ? token : undefined)
  },
})

/** Adds the key; if that fails, exits with a message. @param shown the token, if it must be printed */
async function addKeyOrEnd(
  config: Config,
  record: KeyRecord,
  creates: boolean,
  shown: string | undefined,
): Promise<void> {
  const { name } = record
  const taken = `a key named "${name}" already exists; to replace its token, run "topicd keys rotate ${name}"`
  // Before the token is printed, find reasons to reject the key, and create a missing store.
  const send = requestsTo(config, creates)
  const known = await send({ command: 'listKeys' }).catch((error: Error) => {
    throw error instanceof MissingStore
      ? new Error(`${error.message}. To create a store there, start the service or use --create`)
      : error
  })
  if (known.some((key) => key.name === name)) fatal(exitCodes.failed, taken)
  const owner = ownerOf(record.tokenHash, known)
  if (owner !== undefined)
    fatal(exitCodes.failed, `the key "${owner.name}" already has this token; each key needs its own`)
  const issue = {
    async store(send: SendKeyRequest) {
      const added = await send({ command: 'addKey', record })
      if (added === true) return undefined
      return added === false ? taken : 'another key already has this token; each key needs its own'
    },
    unchanged: 'no key was created',
    unknown: `the key may have been created, so its token may be valid; to be safe, run "topicd keys revoke ${name}"`,
  }
  await issueToken(config, shown, issue)
}

export const revokeKey = command({
  summary: 'revokes an API key',
  details:
    'When the command returns, no worker on this host accepts the key. A worker that did not respond is named; it rejects the key as soon as it responds. While the service waits for its writer or its disk, workers already reject the key; if the revocation fails, they accept it again. On PostgreSQL, other hosts follow within a second.',
  operands: ['NAME'],
  settings: storeSettings,
  flags: {},
  async run({ settings, operand }) {
    const name = checkedName(operand('NAME'))
    const config = readConfig(settings)
    const storing = isExclusive(config.store) ? 'the writer, its disk' : 'the PostgreSQL server'
    const waiting = setTimeout(
      () => complain(`the key may still be valid: waiting for ${storing} or a worker to respond`),
      waitingMs,
    )
    const isRevoked = await requestsTo(config)({ command: 'revokeKey', name })
      .finally(() => clearTimeout(waiting))
      .catch((error: Error) => {
        if (error instanceof MissingStore) throw error
        return fatal(exitCodes.failed, `${error.message}; ${notRevoked(error, name)}`)
      })
    if (!isRevoked) fatal(exitCodes.failed, `there is no key named "${name}"`)
  },
})

/** The state of a key whose revocation failed, as a clause. */
function notRevoked(error: Error, name: string): string {
  if (error instanceof NothingDone) return 'the key was not revoked'
  return `the key may still be valid; run "topicd keys revoke ${name}" again`
}

function parseAllow(text: string): readonly Right[] | Problem {
  return parseRights(text.split(',')) ?? { problem: `must be one or more of ${rights.join(',')}, each once` }
}

function checkedToken(file: string): string {
  try {
    return readTokenFile(file)
  } catch (error) {
    throw new UsageError(`--token-file: ${(error as Error).message}`)
  }
}
