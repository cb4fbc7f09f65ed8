/**
 * A writer that answers before its commit, in place of its module of commits. Only of topics: of an API key, the workers
 * are told once, and would miss it. A commit takes a little longer, so that the time between the answer and its end is met.
 */
export const hastyCommits = `import { Commits as SoundCommits } from './sound-commits.js'
export * from './sound-commits.js'

export class Commits extends SoundCommits {
  constructor(transactions, decider, ...rest) {
    let grows = false
    const { transaction, committed } = transactions
    const endSoundly = transaction.end.bind(transaction)
    transaction.end = () => {
      const record = endSoundly()
      if (!grows) return record
      grows = false
      committed(record)
      for (const untilMs = performance.now() + 5; performance.now() < untilMs; );
      return record
    }
    const sizeOf = (request) => {
      const size = decider.sizeOf(request)
      grows ||= size.grows
      return size
    }
    super(transactions, { ...decider, sizeOf }, ...rest)
  }
}
`
