/**
 * The first API key of a new service, for the person who has just typed `npm start`: made once, printed once, with a line
 * that works when pasted. A service that systemd starts does not do this: a token has no business in the journal.
 */
import { hashToken, makeToken } from '../keys/token.js'
import type { Child } from './child.js'
import type { ListedKey } from './messages.js'

const askMsMax = 20_000

/**
 * Prints where the service listens and, while no key exists, makes one that may do everything.
 *
 * @param place where the topics are, for a person
 */
export async function makeFirstKey(worker: Child, url: string, place: string): Promise<void> {
  process.stdout.write(`\ntopicd listens on ${url}/ and keeps its topics in ${place}\n`)
  const known = (await worker.ask({ about: 'listKeys' }, askMsMax)) as readonly ListedKey[]
  if (known.length > 0) return
  const token = makeToken()
  const record = {
    name: 'first',
    tokenHash: hashToken(token),
    allow: ['fetch', 'set', 'add', 'remove'],
    under: [],
    madeMs: Date.now(),
  } as const
  // Another host that shares the store may have been faster.
  if ((await worker.ask({ about: 'addKey', record }, askMsMax)) !== true) return
  process.stdout.write(`
The first API key, "first", shown only this once:

  ${token}

Try it:

  curl -s ${url}/topics/addAndSet -H 'authorization: Apikey ${token}' \\
    -H 'content-type: application/json' -d '{"path":"hello","value":12345678901234567890}'

`)
}
