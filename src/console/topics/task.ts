/** Steps that a user starts and may wait for, such as a write: whether one is running, and why the last one has failed. */
import { signal } from '@preact/signals-core'
import type { Context } from './context.js'
import { describeFailure } from './failures.js'

export class Task {
  readonly isBusy = signal(false)
  /** A sentence; empty if the last step has not failed. */
  readonly problem = signal('')

  constructor(private readonly context: Pick<Context, 'signOut'>) {}

  /** Never rejects. Steps may overlap; `problem` is that of the last one to end. */
  async attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step()
      this.problem.value = ''
    } catch (error) {
      this.problem.value = describeFailure(error, this.context)
    }
  }

  /** As `attempt`, but does nothing while another step is busy. */
  async run(step: () => Promise<void>): Promise<void> {
    if (this.isBusy.value) return
    this.isBusy.value = true
    this.problem.value = ''
    await this.attempt(step)
    this.isBusy.value = false
  }
}
