/**
 * The life of a worker or the writer, which its program starts: it takes its primary's messages one after the other, lives
 * only as long as the primary, and ends after a drain, or when a step failed. What it does is its program's.
 */
import { exitCodes } from '../base/exit-codes.js'
import { version } from '../base/version.js'
import { createLog, failureMembers, type Logger, logCrashes } from '../ops/log.js'
import type { FromChild, ToChild } from './messages.js'
import { onParentMessage, sendToParent } from './parent.js'
import { takeAllSteps } from './steps.js'

const heartbeatMs = 1000

export abstract class Life {
  protected readonly log: Logger
  /** True if the process ends by its own decision, so that its exit needs no kill. */
  #isEnding = false

  constructor(private readonly role: 'worker' | 'writer') {
    this.log = createLog(role)
    logCrashes(this.log)
  }

  protected abstract take(message: ToChild): void

  protected abstract sendHeartbeat(): void

  /**
   * From now on this process takes its primary's messages and sends it heartbeats, and ignores signals: a terminal sends them
   * to the whole process group, and the primary sends messages. Any exit that is not the process's own decision is turned
   * into a kill, since the next service may open the store at any moment, and only a kill is sure. Its first message is that
   * it has loaded.
   */
  begin(): void {
    onParentMessage((message: ToChild) => this.take(message))
    setInterval(() => this.sendHeartbeat(), heartbeatMs)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
    const killSelf = (): boolean => process.kill(process.pid, 'SIGKILL')
    process.on('exit', () => this.#isEnding || killSelf())
    process.on('disconnect', killSelf)
    // While the code was loading, nobody listened for that event.
    if (!process.connected) killSelf()
    sendToParent({ kind: 'loaded', version })
  }

  /** Reports `done` after the step; ends the process with `code` when it fails. */
  protected async step(step: () => Promise<void>, done: FromChild, code: number): Promise<void> {
    try {
      await step()
      sendToParent(done)
    } catch (error) {
      this.log.fatal({ err: error }, `${this.role} could not go on`)
      this.fail(error as Error, code)
    }
  }

  /** Reports the reason, and ends the process. */
  protected fail({ message }: Error, code: number): void {
    sendToParent({ kind: 'failed', reason: message })
    this.end(code)
  }

  /** Takes the steps of a drain, each though an earlier one failed, and ends the process. */
  protected async endAfter(steps: readonly (() => unknown)[]): Promise<void> {
    await takeAllSteps(steps, (error) => this.log.warn(failureMembers(error), 'a step of the drain failed'))
    this.end(exitCodes.done)
  }

  protected end(code: number): void {
    this.#isEnding = true
    process.exit(code)
  }
}
