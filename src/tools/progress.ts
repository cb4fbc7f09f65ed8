/** The progress of a tool: at most one line per step and `reportMs`, so that reporting costs next to nothing. */
import type { ToolIo } from './tool.js'
import type { ProgressLine } from './tool-messages.js'

/** The start of every progress line, and of no other line. */
export const progressPrefix = '{"progress":'

const reportMs = 200

/** Reports the progress of a step; most calls send nothing. */
type Report = (step: string, done: number, total?: number) => void

/** @returns a function that sends a line when one is due, and ignores failures to send it */
export function createReport({ emit }: Pick<ToolIo, 'emit'>): Report {
  let reportedAt = -Infinity
  let reported = ''
  return (step, done, total) => {
    const now = performance.now()
    if (step === reported && now - reportedAt < reportMs) return
    reportedAt = now
    reported = step
    void emit(JSON.stringify({ progress: { step, done, total } } satisfies ProgressLine)).catch(() => {})
  }
}
