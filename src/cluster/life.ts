/**
 * The life cycle of a worker or the writer. The process handles the primary's messages in order. It exits after a drain, when a
 * step fails, or together with the primary. worker/worker.ts and writer/writer.ts define the steps.
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
  /** True if the process exits of its own accord, so that the exit does not become a kill. */
  #isEnding = false

  constructor(private readonly role: 'worker' | 'writer') {
    this.log = createLog(role)
    logCrashes(this.log)
  }

  protected abstract take(message: ToChild): void

  protected abstract sendHeartbeat(): void

  /**
   * Starts to handle the primary's messages and to send heartbeats. Signals are ignored: a terminal sends them to the whole process
   * group, and the primary sends messages instead. Any exit that is not the process's own decision becomes a kill. The next service
   * may open the store at any time, and only a kill is certain to stop this process. The first message reports that the code is
   * loaded.
   */
  begin(): void {
    onParentMessage((message: ToChild) => this.take(message))
    setInterval(() => this.sendHeartbeat(), heartbeatMs)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
    const killSelf = (): boolean => process.kill(process.pid, 'SIGKILL')
    process.on('exit', () => this.#isEnding || killSelf())
    process.on('disconnect', killSelf)
    // The parent may have disconnected before the listener was added, while the code was loading.
    if (!process.connected) killSelf()
    sendToParent({ kind: 'loaded', version })
  }

  /** Reports `done` after the step; exits with `code` if the step fails. */
  protected async step(step: () => Promise<void>, done: FromChild, code: number): Promise<void> {
    try {
      await step()
      sendToParent(done)
    } catch (error) {
      this.log.fatal({ err: error }, `${this.role} cannot continue`)
      this.fail(error as Error, code)
    }
  }

  /** Reports the reason and exits. */
  protected fail({ message }: Error, code: number): void {
    sendToParent({ kind: 'failed', reason: message })
    this.end(code)
  }

  /** Takes all steps of a drain, even if an earlier one fails, and exits. */
  protected async endAfter(steps: readonly (() => unknown)[]): Promise<void> {
    await takeAllSteps(steps, (error) => this.log.warn(failureMembers(error), 'a step of the drain failed'))
    this.end(exitCodes.done)
  }

  protected end(code: number): void {
    this.#isEnding = true
    process.exit(code)
  }
}
