/**
 * The first API key of a new service: for a user who has just typed `npm start`, made once and printed once, with a command
 * to paste; or with a token that an operator made, such as a secret of a container, which is shown nowhere. A service that
 * systemd starts does not print one: a token must not appear in the journal.
 */
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashToken, makeToken } from '../../auth/token.js'
import { operations } from '../../keys/record.js'
import { NothingDone, type SendKeyRequest } from '../../keys/requests.js'
import { ownerOf } from '../../keys/rotation.js'
import { settingTable } from '../../settings/table.js'

const firstName = 'first'

/** Between two checks that the store is available and its disk has room. */
const storeCheckMs = 500

/** Shown to the person who has started the service. */
interface Started {
  /** Of the routes, without a slash at its end. */
  readonly url: string
  /** Where the topics are stored, in words. */
  readonly place: string
  readonly data: string
  readonly hasConsole: boolean
}

/**
 * Prints where the service listens and, if no key exists, makes one that may do everything. A key that cannot be shown
 * is revoked.
 *
 * @param show prints a text; false when it could not
 * @throws Error when no response came; a key that was never shown may exist then, under the name "first"
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
  const shown = show(`The first API key, "first", shown only this once:

  ${token}

Try it:

  curl -s ${url}/topics/addAndSet -H 'authorization: Apikey ${token}' \\
    -H 'content-type: application/json' -d '{"path":"hello","value":12345678901234567890}'

`)
  if (!shown) await send({ command: 'revokeKey', name: firstName })
}

/**
 * If no key exists, makes one that may do everything, with a token that was given by its hash.
 *
 * @returns `made` if a key was created with the token, `known` if a key had it before, `unused` if other keys exist
 * @throws Error when no response came; the key may exist then
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
 * Sends the first request once the store is available, and repeats each while the disk is full, without a time limit.
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
  const where = data === settingTable.data.default ? '' : ` --data ${shellWord(data)}`
  return `
topicd listens on ${url}/ and keeps its topics in ${place}

${hasConsole ? `  Console:      ${url}/console\n` : ''}  Another key:  node ${shellWord(mainFile())} keys add NAME${where}

`
}

/** The program's file, as a command in the working directory names it. */
function mainFile(): string {
  const file = join(import.meta.dirname, '../../main.js')
  const relativeFile = relative('', file)
  return relativeFile.startsWith('..') ? file : relativeFile
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
