/** A progress bar on standard error, shown only if that is a terminal. */
import { Presets, SingleBar } from 'cli-progress'
import { progressIn } from '../cluster/control/protocol.js'
import type { ProgressLine } from '../tools/tool-messages.js'

export class Progress {
  #bar: SingleBar | undefined
  #step = ''

  /** @param size the final value of `done`, for a tool that does not know it */
  constructor(private readonly size?: number) {}

  /** Shows a progress line; returns false for any other line. */
  take(line: string): boolean {
    const progress = progressIn(line)
    if (progress !== undefined && process.stderr.isTTY) this.#show(progress)
    return progress !== undefined
  }

  readonly end = (): void => {
    this.#bar?.stop()
    this.#bar = undefined
    this.#step = ''
  }

  #show({ step, done, total = this.size }: ProgressLine['progress']): void {
    if (step !== this.#step) {
      this.#bar?.stop()
      this.#step = step
      const format =
        total === undefined ? `${step} {value}` : `${step} [{bar}] {percentage}% | {value}/{total} | {eta_formatted}`
      this.#bar = new SingleBar({ format, hideCursor: true, clearOnComplete: true, emptyOnZero: true }, Presets.legacy)
      this.#bar.start(total ?? 0, 0)
    }
    this.#bar?.setTotal(Math.max(total ?? 0, done))
    this.#bar?.update(done)
  }
}
