/** The progress of a tool: one line every `reportMs` at most, so that reporting costs next to nothing. */
import type { ToolIo } from './tool.js'
import type { ProgressLine } from './tool-messages.js'

/** How a progress line begins; no other line does. */
export const progressPrefix = '{"progress":'

const reportMs = 200

/** Reports how far a step has come; most calls send nothing. */
type Report = (step: string, done: number, total?: number) => void

/** @returns a function that sends a line when one is due, and ignores that it cannot be sent */
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
