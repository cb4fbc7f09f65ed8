/**
 * One child process as the primary sees it: what it has said, what is waited for, and its end. It knows nothing of when to
 * start or replace one.
 */
import type { ChildProcess } from 'node:child_process'
import type { WorkerFigures } from '../ops/figures.js'
import type { FromChild, Question, ToChild } from './messages.js'

type Said = FromChild['kind']

export interface Child {
  readonly process: ChildProcess
  readonly startedMs: number
  /** When it last gave a sign of life, in ms of performance.now(). */
  heardMs: number
  /** Whether it could write when it last said so. */
  writable: boolean
  /** What it last told of itself. */
  figures: WorkerFigures | undefined
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** Whether it has ended. */
  gone(): boolean
  tell(message: ToChild): void
  /** Resolves when it says so; rejects when it ends first or `withinMs` pass. */
  said(kind: Said, withinMs: number): Promise<void>
  ask(question: Question, withinMs: number): Promise<unknown>
  /** Has it tell its figures, with `stored` the store's as well; resolves when it has, or `withinMs` have passed. */
  measure(stored: boolean, withinMs: number): Promise<void>
}

/** How long a child may take to end by itself: its exit waits for a thread that the disk may never let go. */
const brokenMsMax = 2000

export function childOf(process: ChildProcess): Child {
  const waiting = new Map<Said, (() => void)[]>()
  const asked = new Map<number, { resolve: (answer: unknown) => void; reject: (reason: Error) => void }>()
  let lastId = 0
  let gone = false

  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    process.once('exit', (code, signal) => {
      gone = true
      for (const { reject } of asked.values()) reject(new Error('the worker ended before it answered'))
      resolve({ code, signal })
    })
  })

  process.on('message', (message: FromChild) => {
    child.heardMs = performance.now()
    switch (message.kind) {
      case 'heartbeat':
        child.writable = message.writable
        break
      case 'figures':
        child.figures = message.figures
        break
      case 'broken':
        setTimeout(() => process.kill('SIGKILL'), brokenMsMax).unref()
        break
      case 'answer':
        asked.get(message.id)?.resolve(message.answer)
        break
      case 'unanswered':
        asked.get(message.id)?.reject(new Error(message.reason))
        break
    }
    for (const heard of waiting.get(message.kind) ?? []) heard()
    waiting.delete(message.kind)
  })
  process.on('error', () => {
    // A message could not be delivered: the child is ending, and `exit` says the rest.
  })

  /** `made`, or an error when the child ends or the time passes before. */
  async function within<T>(made: Promise<T>, what: string, withinMs: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`process ${process.pid} took over ${withinMs} ms to be ${what}`)), withinMs)
    })
    const end = ended.then(({ code, signal }) => {
      throw new Error(`process ${process.pid} ended (${signal ?? code}) before it was ${what}`)
    })
    try {
      return await Promise.race([made, late, end])
    } finally {
      clearTimeout(timer)
    }
  }

  const child: Child = {
    process,
    startedMs: performance.now(),
    heardMs: performance.now(),
    writable: true,
    figures: undefined,
    ended,
    gone: () => gone,
    tell(message) {
      if (process.connected) process.send(message)
    },
    said(kind, withinMs) {
      const heard = new Promise<void>((resolve) => {
        waiting.set(kind, [...(waiting.get(kind) ?? []), resolve])
      })
      return within(heard, kind, withinMs)
    },
    ask(question, withinMs) {
      const id = ++lastId
      const answer = new Promise<unknown>((resolve, reject) => asked.set(id, { resolve, reject }))
      child.tell({ kind: 'ask', id, question })
      return within(answer, `heard about ${question.about}`, withinMs).finally(() => asked.delete(id))
    },
    measure(stored, withinMs) {
      const told = child.said('figures', withinMs)
      child.tell({ kind: 'measure', stored })
      return told.catch(() => {})
    },
  }
  return child
}
