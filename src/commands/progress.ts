/**
 * A progress bar on standard error, for a person at a terminal; without one nothing is shown.
 */
import { Presets, SingleBar } from 'cli-progress'
import { progressIn } from '../cluster/control/protocol.js'
import type { ProgressLine } from '../tools/tool-messages.js'

interface Progress {
  /** Shows the line if it is about progress, and returns whether it is. */
  take(line: string): boolean
  end(): void
}

/** @param size what `done` will be at the end, for a tool that cannot know it */
export function createProgress(size?: number): Progress {
  const isShown = process.stderr.isTTY
  let bar: SingleBar | undefined
  let current = ''

  function show({ step, done, total = size }: ProgressLine['progress']): void {
    if (step !== current) {
      bar?.stop()
      current = step
      const format =
        total === undefined ? `${step} {value}` : `${step} [{bar}] {percentage}% | {value}/{total} | {eta_formatted}`
      bar = new SingleBar({ format, hideCursor: true, clearOnComplete: true, emptyOnZero: true }, Presets.legacy)
      bar.start(total ?? 0, 0)
    }
    bar?.setTotal(Math.max(total ?? 0, done))
    bar?.update(done)
  }

  return {
    take(line) {
      const progress = progressIn(line)
      if (progress !== undefined && isShown) show(progress)
      return progress !== undefined
    },
    end() {
      bar?.stop()
      bar = undefined
      current = ''
    },
  }
}
