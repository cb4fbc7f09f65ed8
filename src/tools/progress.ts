/**
 * How far a tool has come: a line now and then, so that reporting costs nothing, for whoever shows it.
 */
import { Cancelled } from '../store/store.js'
import type { ToolIo } from './tool.js'

/** Such a line. */
export interface ProgressLine {
  readonly progress: {
    /** What is being done, in a word or two. */
    readonly step: string
    readonly done: number
    /** What `done` will come to, as far as that is known. */
    readonly total: number | undefined
  }
}

/** How a progress line begins; no other line does. */
export const progressPrefix = '{"progress":'

const reportMs = 200

/** Tells how far a step has come; of many calls only some make a line. */
export type Report = (step: string, done: number, total?: number) => void

/** @returns a function that throws Cancelled once the work is to stop */
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
