/** The state of steps that the user starts and may wait for, such as a write: a running step, and the last step's failure. */
import { signal } from '@preact/signals-core'
import { describeFailure, type Ending } from './failures.js'

export class Task {
  readonly isBusy = signal(false)
  /** The last step's failure as a sentence; empty if it succeeded. */
  readonly problem = signal('')

  /** Never rejects. If steps overlap, `problem` describes the one that ended last. */
  async attempt(session: Ending, step: () => Promise<void>): Promise<void> {
    try {
      await step()
      this.problem.value = ''
    } catch (error) {
      this.problem.value = describeFailure(error, session)
    }
  }

  /** Like `attempt`, but does nothing while another step is running. */
  async run(session: Ending, step: () => Promise<void>): Promise<void> {
    if (this.isBusy.value) return
    this.isBusy.value = true
    this.problem.value = ''
    await this.attempt(session, step)
    this.isBusy.value = false
  }
}
