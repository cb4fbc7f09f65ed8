/**
 * The first API key of a new service. After `npm start`, it is created and printed once, with a command to paste. Otherwise it
 * may get an operator's token, such as a container secret, which is never shown. A service started by systemd prints no key,
 * because a token must not appear in the journal.
 */
import { join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashToken, makeToken } from '../../auth/token.js'
import { operations } from '../../keys/record.js'
import { NothingDone, type SendKeyRequest } from '../../keys/requests.js'
import { ownerOf } from '../../keys/rotation.js'
import { settingTable } from '../../settings/table.js'

const firstName = 'first'

/** The interval between checks that the store is available and its disk has room. */
const storeCheckMs = 500

/** Shown to the person who starts the service. */
interface Started {
  /** The URL of the routes, without a trailing slash. */
  readonly url: string
  /** The storage location of the topics, in words. */
  readonly place: string
  /** The absolute path of the data directory. */
  readonly data: string
  readonly hasConsole: boolean
}

/**
 * Prints the URL of the service and, if no key exists, creates and prints a key for all operations. If the key cannot
 * be shown, it is revoked.
 *
 * @param show prints a string; returns false if that failed
 * @throws Error if no response arrived; a key named "first" that was never shown may then exist
 */
export async function makeFirstKey(
  send: SendKeyRequest,
  started: Started,
  show: (text: string) => boolean,
): Promise<void> {
  const { url } = started
  show(banner(started))
  const token = makeToken()
  if ((await addFirstKey(send, hashToken(token))) !== 'made') return
  const shown = show(`The first API key, "first", which is not shown again:

  ${token}

Try it:

  curl -s ${url}/topics/addAndSet -H 'authorization: Apikey ${token}' \\
    -H 'content-type: application/json' -d '{"path":"hello","value":12345678901234567890}'

`)
  if (!shown) await send({ command: 'revokeKey', name: firstName })
}

/**
 * If no key exists, creates a key for all operations with the token that has this hash.
 *
 * @returns `made` if a key was created with the token, `known` if a key already had it, `unused` if other keys exist
 * @throws Error if no response arrived; the key may then exist
 */
export async function addFirstKey(send: SendKeyRequest, tokenHash: string): Promise<'made' | 'known' | 'unused'> {
  const keys = await send({ command: 'listKeys' })
  if (keys.length > 0) return ownerOf(tokenHash, keys) === undefined ? 'unused' : 'known'
  // Another host that shares the store may have been faster.
  const record = { name: firstName, tokenHash, allow: operations, under: [], madeMs: Date.now() }
  const added = await send({ command: 'addKey', record })
  if (added === true) return 'made'
  return added === 'token_taken' ? 'known' : 'unused'
}

/**
 * Sends the first request once the store is available. Repeats each request that had no effect, as on a full disk, without a time limit.
 * Later requests do not wait for the store, because keys may have been added or revoked in the meantime.
 */
export function patient(sendOnce: SendKeyRequest, isStoreUnavailable: () => boolean): SendKeyRequest {
  let waits = true
  return async (request) => {
    for (;;) {
      waits &&= isStoreUnavailable()
      try {
        if (!waits) return await sendOnce(request)
      } catch (error) {
        if (!(error instanceof NothingDone)) throw error
      }
      await sleep(storeCheckMs)
    }
  }
}

function banner({ url, place, data, hasConsole }: Started): string {
  const where = data === resolve(settingTable.data.default) ? '' : ` --data ${shellWord(data)}`
  return `
topicd listens on ${url}/ and keeps its topics in ${place}

${hasConsole ? `  Console:      ${url}/console\n` : ''}  Another key:  node ${shellWord(mainFile())} keys add NAME${where}

`
}

/** The path of the program's file for a command in the working directory. */
function mainFile(): string {
  const file = join(import.meta.dirname, '../../main.js')
  const relativeFile = relative('', file)
  return relativeFile.startsWith('..') ? file : relativeFile
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
