/**
 * A writer that answers before its commit, in place of its module of commits. Only of topics: of an API key, the workers
 * are told once, and would miss it. A commit takes a little longer, so that the time between the answer and its end is met.
 */
export const hastyCommits = `import { Commits as SoundCommits } from './sound-commits.js'
export * from './sound-commits.js'

export class Commits extends SoundCommits {
  constructor(transactions, ...rest) {
    let grows = false
    const end = () => {
      transactions.end?.()
      if (!grows) return
      grows = false
      transactions.committed?.()
      for (const untilMs = performance.now() + 5; performance.now() < untilMs; );
    }
    super({ ...transactions, end }, ...rest)
    this.noteGrowth = (size) => (grows ||= size.grows)
  }

  submit(write) {
    this.noteGrowth?.(write.size)
    super.submit(write)
  }
}
`
