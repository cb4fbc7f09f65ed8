/**
 * Responds to requests about API keys from the store: while the service runs, in the writer or, on an engine without one, in
 * a worker; otherwise in a tool's process that the command line starts.
 */
import type { Awaitable } from '../base/awaitable.js'
import type { ApiKeyStore } from '../store/api-keys.js'
import { unreadableKey } from '../store/core/key-records.js'
import { StoreError } from '../store/errors.js'
import type { KeyCommand, KeyRequestOf, Responses } from './control/messages.js'
import { NothingDone } from './messages.js'

const responders: {
  readonly [Command in KeyCommand]: (
    store: ApiKeyStore,
    request: KeyRequestOf<Command>,
  ) => Awaitable<Responses[Command]>
} = {
  async addKey(store, { record }) {
    const addition = await store.addKey(record)
    return addition === 'token_taken' ? addition : addition === 'added'
  },
  rotateKey: (store, { rotation }) => store.rotateKey(rotation),
  revokeKey: (store, { name }) => store.revokeKey(name),
  async listKeys(store) {
    const uses = await store.keyUses()
    // Callers conclude from the list that a name is free or no key exists, so no unreadable record may be left out.
    const records = await store.readKeys((name, problem) => {
      throw new NothingDone(unreadableKey(name, problem))
    })
    return records.map((record) => ({ ...record, usedMs: uses.get(record.name) }))
  },
}

/** @throws NothingDone when the disk has no room for the change; Error when the store fails */
export async function keyResponse<Command extends KeyCommand>(
  store: ApiKeyStore,
  request: KeyRequestOf<Command>,
): Promise<Responses[Command]> {
  const command: Command = request.command
  try {
    return await responders[command](store, request)
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'full') throw new NothingDone(error.message, { cause: error })
    throw error
  }
}
