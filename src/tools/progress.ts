/**
 * The progress of a tool: one line every `reportMs` at most, so that reporting costs next to nothing.
 */
import { Cancelled } from '../store/cancellation.js'
import type { ToolIo } from './tool.js'
import type { ProgressLine } from './tool-messages.js'

/** How a progress line begins; no other line does. */
export const progressPrefix = '{"progress":'

const reportMs = 200

/** Reports how far a step has come; most calls send nothing. */
type Report = (step: string, done: number, total?: number) => void

/** @returns a function that throws Cancelled once the work must stop */
export function createReport(io: Pick<ToolIo, 'emit' | 'signal'>): Report {
  let reportedAt = -Infinity
  let reported = ''
  return (step, done, total) => {
    if (io.signal.aborted) throw new Cancelled()
    const now = performance.now()
    if (step === reported && now - reportedAt < reportMs) return
    reportedAt = now
    reported = step
    void io.emit(JSON.stringify({ progress: { step, done, total } } satisfies ProgressLine)).catch(() => {})
  }
}
