/**
 * The first API key of a new service, for the person who has just typed `npm start`: made once, printed once, with a line
 * that works when pasted. A service that systemd starts does not do this: a token has no business in the journal.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { hashToken, makeToken } from '../auth/token.js'
import type { Child } from './child.js'
import { addNewKey, persistently, readKeys } from './new-key.js'

/** How long one worker may take to answer. */
const requestMsMax = 20_000

/** Between two looks whether the store is back, in ms. */
const awayMs = 500

/** How long to look for a worker that answers. */
const answerMsMax = 60_000

/**
 * Prints where the service listens and, while no key exists, makes one that may do everything; one that cannot be shown is
 * not kept.
 *
 * @param serving the workers that serve now; one that ends before it answers is no reason to give up
 * @param isStoreAway while it is, nothing is asked, for however long that takes
 * @param place where the topics are, for a person
 * @param show prints a text; false when it could not
 * @throws Error when no worker answered; a key that nobody has seen may exist then, under the name "first"
 */
export async function makeFirstKey(
  serving: () => readonly Pick<Child, 'request'>[],
  isStoreAway: () => boolean,
  url: string,
  place: string,
  show: (text: string) => boolean,
): Promise<void> {
  show(`\ntopicd listens on ${url}/ and keeps its topics in ${place}\n`)
  while (isStoreAway()) await sleep(awayMs)
  const ask = persistently(async (question) => {
    const [worker] = serving()
    if (worker === undefined) throw new Error('no worker serves')
    return worker.request(question, requestMsMax)
  }, answerMsMax)
  if ((await readKeys(ask)).length > 0) return
  const token = makeToken()
  const record = {
    name: 'first',
    tokenHash: hashToken(token),
    allow: ['fetch', 'set', 'add', 'remove'],
    under: [],
    madeMs: Date.now(),
  } as const
  // Another host may have been faster.
  if (!(await addNewKey(ask, record))) return
  const shown = show(`
The first API key, "first", shown only this once:

  ${token}

Try it:

  curl -s ${url}/topics/addAndSet -H 'authorization: Apikey ${token}' \\
    -H 'content-type: application/json' -d '{"path":"hello","value":12345678901234567890}'

`)
  if (!shown) await ask({ about: 'revokeKey', name: record.name })
}
