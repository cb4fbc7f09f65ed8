/**
 * A progress bar on standard error, for a person at a terminal; without one nothing is shown.
 */
import { Presets, SingleBar } from 'cli-progress'
import { type ProgressLine, progressPrefix } from '../tools/progress.js'

export interface Progress {
  /** Shows the line if it tells of progress; whether it did. */
  take(line: string): boolean
  end(): void
}

/** @param size what `done` will come to, where the tool itself cannot know it */
export function createProgress(size?: number): Progress {
  const shown = process.stderr.isTTY
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
      if (!line.startsWith(progressPrefix)) return false
      if (shown) show((JSON.parse(line) as ProgressLine).progress)
      return true
    },
    end() {
      bar?.stop()
      bar = undefined
      current = ''
    },
  }
}
