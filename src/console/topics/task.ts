/** Steps that a user starts and may wait for, such as a write: whether one is running, and why the last one has failed. */
import { signal } from '@preact/signals-core'
import { describeFailure, type Ending } from './failures.js'

export class Task {
  readonly isBusy = signal(false)
  /** A sentence; empty if the last step has not failed. */
  readonly problem = signal('')

  /** Never rejects. Steps may overlap; `problem` is that of the last one to end. */
  async attempt(session: Ending, step: () => Promise<void>): Promise<void> {
    try {
      await step()
      this.problem.value = ''
    } catch (error) {
      this.problem.value = describeFailure(error, session)
    }
  }

  /** As `attempt`, but does nothing while another step is busy. */
  async run(session: Ending, step: () => Promise<void>): Promise<void> {
    if (this.isBusy.value) return
    this.isBusy.value = true
    this.problem.value = ''
    await this.attempt(session, step)
    this.isBusy.value = false
  }
}
