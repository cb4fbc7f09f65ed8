/**
 * The answers to questions about API keys, from the store: given by a worker while the service runs, otherwise by a tool's
 * process of the command line.
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
