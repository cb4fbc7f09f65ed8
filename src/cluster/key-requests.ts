/**
 * What is asked about API keys, answered from the store: by a worker while the service runs, by the command line itself
 * while it does not.
 */
import type { TopicStore } from '../store/store.js'
import type { ListedKey, Question } from './messages.js'

export async function answerQuestion(store: TopicStore, question: Question): Promise<boolean | readonly ListedKey[]> {
  switch (question.about) {
    case 'addKey':
      return store.addKey(question.record)
    case 'revokeKey':
      return store.revokeKey(question.name)
    case 'listKeys': {
      const uses = await store.keyUses()
      const records = await store.readKeys()
      return records.map((record) => ({ ...record, usedMs: uses.get(record.name) }))
    }
  }
}
