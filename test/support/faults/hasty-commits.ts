/**
 * A replacement for the writer's commit module that acknowledges writes to topics before their commit. Changes of API keys are excluded,
 * because workers are notified of a key only once and would miss it. A commit takes a little longer, so that tests hit the time between the
 * response and the end of the commit.
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
