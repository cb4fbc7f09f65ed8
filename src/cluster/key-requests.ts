/**
 * Answers questions about API keys from the store: in a worker while the service runs, otherwise in a tool's process
 * that the command line starts.
 */

import type { ListedKey } from '../keys/record.js'
import type { ApiKeyStore } from '../store/api-keys.js'
import type { Question } from './messages.js'

/** Whether the key was added, rotated or revoked, or the list of keys. @throws Error when the store cannot answer */
export async function answerQuestion(store: ApiKeyStore, question: Question): Promise<boolean | readonly ListedKey[]> {
  switch (question.about) {
    case 'addKey':
      return store.addKey(question.record)
    case 'rotateKey':
      return store.rotateKey(question.rotation)
    case 'revokeKey':
      return store.revokeKey(question.name)
    case 'listKeys': {
      const uses = await store.keyUses()
      const records = await store.readKeys()
      return records.map((record) => ({ ...record, usedMs: uses.get(record.name) }))
    }
  }
}
