/**
 * Executes requests about API keys on the store: while the service runs, in the writer or, on an engine without one, in a
 * worker; otherwise in a tool process that the command line starts.
 */
import type { Awaitable } from '../base/awaitable.js'
import { rightsProblem } from '../keys/record.js'
import { type KeyCommand, type KeyRequestOf, type KeyResponses, NothingDone } from '../keys/requests.js'
import type { ApiKeyStore } from '../store/api-keys.js'
import { unreadableKey } from '../store/core/key-records.js'
import { StoreError } from '../store/errors.js'

const responders: {
  readonly [Command in KeyCommand]: (
    store: ApiKeyStore,
    request: KeyRequestOf<Command>,
  ) => Awaitable<KeyResponses[Command]>
} = {
  async addKey(store, { record, by }) {
    const refused = rightsProblem(record)
    if (refused !== undefined) throw new NothingDone(refused)
    const addition = await store.addKey(record, by)
    return addition === 'added' || (addition === 'name_taken' ? false : addition)
  },
  rotateKey: (store, { rotation, by }) => store.rotateKey(rotation, by),
  revokeKey: (store, { name, by }) => store.revokeKey(name, by),
  async listKeys(store) {
    const uses = await store.keyUses()
    // Callers infer from the list that a name is free or no key exists, so an unreadable record must not be omitted.
    const records = await store.readKeys((name, problem) => {
      throw new NothingDone(unreadableKey(name, problem))
    })
    return records.map((record) => ({ ...record, usedMs: uses.get(record.name) }))
  },
}

/** @throws NothingDone if the record is not allowed or unreadable, or the disk is full; Error if the store fails */
export async function keyResponse<Command extends KeyCommand>(
  store: ApiKeyStore,
  request: KeyRequestOf<Command>,
): Promise<KeyResponses[Command]> {
  const command: Command = request.command
  try {
    return await responders[command](store, request)
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'full') throw new NothingDone(error.message, { cause: error })
    throw error
  }
}
