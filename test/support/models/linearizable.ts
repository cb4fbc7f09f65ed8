/**
 * Whether a history of one topic could have come from a single copy of it: each operation takes effect at one instant
 * between its call and its answer (linearizability, for a register with compare-and-set that can also be absent).
 *
 * The check walks calls and answers in order of time and keeps every state that the topic may be in: its value, and
 * which of the operations in flight have taken effect. When an operation is answered, only the states in which it has
 * taken effect remain; there must be one.
 *
 * Operations without an answer may take effect at any time after their call, or never. A write whose value was read had
 * taken effect by then. The others are not distinguished, or there would be too many states. Writes of values that were
 * never read cannot explain a read, only that a topic was found, and may do so any number of times. Of removals, only
 * the number that have taken effect counts; of two states that differ only in that, the one with fewer allows
 * everything that the other does. At the death of all who could carry them out, they have taken effect or never will.
 */
import { at } from '../elements.js'

/** A value; null if there is no topic. */
export type Value = string | null

export interface Operation {
  readonly startMs: number
  /** Undefined when no answer came. */
  readonly endMs: number | undefined
  /**
   * The first death after its start, if it has no answer. All who could carry operations out die together: after a
   * death, none that began before it takes effect any more.
   */
  readonly deadMs?: number | undefined
  /** The value before, according to the answer; undefined when the answer does not say. */
  readonly read?: Value
  /** A value that it was not before, according to the answer; undefined when the answer does not say. */
  readonly notRead?: Value
  /** Whether there was a topic before, according to the answer; undefined when the answer does not say. */
  readonly found?: boolean
  /** The topic's version, according to an answer that also says the value; undefined when the answer does not say. */
  readonly version?: number
  /** The value afterwards; undefined when nothing is changed. */
  readonly write?: Value
}

/** The first operation that cannot be explained, and those in flight at its answer. */
export interface Violation {
  readonly operation: Operation
  readonly inFlight: readonly Operation[]
  /** The values that were possible before it, according to all earlier answers. */
  readonly possible: readonly Value[]
}

interface State {
  readonly value: Value
  /** The operations in flight that have taken effect, by their indexes in the history. */
  readonly done: ReadonlySet<number>
  /** How many removals without an answer have taken effect. */
  readonly removals: number
}

/** What operations without an answer may have done so far. */
interface Unanswered {
  removals: number
  hasWritten: boolean
}

/** Represents every value that was never read. */
const unreadValue = '(a value that was never read)'

type Event = { readonly atMs: number } & (
  | { readonly kind: 'call' | 'answer'; readonly index: number }
  | { readonly kind: 'unanswered removal' | 'unread write' | 'death' }
)

/**
 * @param history the operations of one topic, in any order; no two writes of one value
 * @param initial the value before all of them
 * @returns undefined for a history that is linearizable
 */
export function findViolation(history: readonly Operation[], initial: Value = null): Violation | undefined {
  const inFlight = new Set<number>()
  const unanswered: Unanswered = { removals: 0, hasWritten: false }
  let states: readonly State[] = [{ value: initial, done: new Set(), removals: 0 }]
  for (const event of eventsOf(history)) {
    switch (event.kind) {
      case 'unanswered removal':
        unanswered.removals++
        break
      case 'unread write':
        unanswered.hasWritten = true
        break
      case 'call':
        inFlight.add(event.index)
        break
      case 'answer': {
        const next = answered(event.index, states, inFlight, unanswered, history)
        if (next.length === 0) {
          return {
            operation: at(history, event.index),
            inFlight: [...inFlight].map((other) => at(history, other)),
            possible: [...new Set(states.map(({ value }) => value))],
          }
        }
        inFlight.delete(event.index)
        states = next
        break
      }
      case 'death':
        states = withoutRemovals(reachable(states, inFlight, unanswered, history, () => false))
        unanswered.removals = 0
        unanswered.hasWritten = false
    }
  }
  return undefined
}

/** At the same instant, calls come before answers, so that both orders are allowed, and deaths after both. */
const order = { call: 0, 'unanswered removal': 0, 'unread write': 0, answer: 1, death: 2 } as const

/** Calls, answers and deaths in order of time. */
function eventsOf(history: readonly Operation[]): readonly Event[] {
  const readMs = readTimes(history)
  const events = history.flatMap(({ startMs, endMs, deadMs, write }, index): readonly Event[] => {
    const seenMs = typeof write === 'string' ? readMs.get(write) : undefined
    const known = endMs ?? (seenMs === undefined ? undefined : Math.min(seenMs, deadMs ?? seenMs))
    if (known !== undefined) {
      return [
        { kind: 'call', index, atMs: startMs },
        { kind: 'answer', index, atMs: Math.max(known, startMs) },
      ]
    }
    if (write === undefined) return []
    return [{ kind: write === null ? 'unanswered removal' : 'unread write', atMs: startMs }]
  })
  const deaths = new Set(history.flatMap(({ deadMs }) => deadMs ?? []))
  for (const atMs of deaths) events.push({ kind: 'death', atMs })
  return events.sort((a, b) => a.atMs - b.atMs || order[a.kind] - order[b.kind])
}

/** When each value that was read was there at the latest: at the first answer that says so. */
function readTimes(history: readonly Operation[]): ReadonlyMap<Value, number> {
  const readMs = new Map<Value, number>()
  const unanswered = new Map<Value, Operation>()
  for (const operation of history) {
    const { write, endMs } = operation
    if (endMs === undefined && typeof write === 'string') unanswered.set(write, operation)
  }
  for (const { read, endMs } of history) {
    // A value that only a compare-and-set without an answer could have written tells what was there before it.
    for (let value = read; value !== undefined && endMs !== undefined; value = unanswered.get(value)?.read) {
      if ((readMs.get(value) ?? Infinity) <= endMs) break
      readMs.set(value, endMs)
    }
  }
  return readMs
}

/** The states after the answer to the operation at `index`; others in flight may have taken effect before it. */
function answered(
  index: number,
  states: readonly State[],
  inFlight: ReadonlySet<number>,
  unanswered: Unanswered,
  history: readonly Operation[],
): readonly State[] {
  const isAnswered = ({ done }: State): boolean => done.has(index)
  const next = new Map<string, State>()
  for (const { value, done, removals } of reachable(states, inFlight, unanswered, history, isAnswered).filter(
    isAnswered,
  )) {
    const remaining = new Set(done)
    remaining.delete(index)
    keepIfBetter(next, { value, done: remaining, removals })
  }
  return [...next.values()]
}

/** These states, and all that follow from them by what is in flight or without an answer; none follows a final one. */
function reachable(
  states: readonly State[],
  inFlight: ReadonlySet<number>,
  unanswered: Unanswered,
  history: readonly Operation[],
  isFinal: (state: State) => boolean,
): readonly State[] {
  const seen = new Map<string, State>()
  const left = [...states]
  for (let state = left.pop(); state !== undefined; state = left.pop()) {
    if (!keepIfBetter(seen, state) || isFinal(state)) continue
    const { value, done, removals } = state
    for (const other of inFlight) {
      if (done.has(other)) continue
      const after = effect(at(history, other), value)
      if (after !== undefined) left.push({ value: after, done: new Set(done).add(other), removals })
    }
    if (value !== null && removals < unanswered.removals) left.push({ value: null, done, removals: removals + 1 })
    if (unanswered.hasWritten && value !== unreadValue) left.push({ value: unreadValue, done, removals })
  }
  return [...seen.values()]
}

/** The same, once no removal without an answer is left. */
function withoutRemovals(states: readonly State[]): readonly State[] {
  const next = new Map<string, State>()
  for (const state of states) keepIfBetter(next, { ...state, removals: 0 })
  return [...next.values()]
}

/** Keeps the state if it is new, or needs fewer removals than the same state before; returns whether it was kept. */
function keepIfBetter(known: Map<string, State>, state: State): boolean {
  const name = `${[...state.done].sort((a, b) => a - b).join(',')} ${state.value}`
  const like = known.get(name)
  if (like !== undefined && like.removals <= state.removals) return false
  known.set(name, state)
  return true
}

/** The value after the operation; undefined when its answer contradicts the value before. */
function effect({ read, notRead, found, write }: Operation, value: Value): Value | undefined {
  if (read !== undefined && read !== value) return undefined
  if (notRead !== undefined && notRead === value) return undefined
  if (found !== undefined && found !== (value !== null)) return undefined
  return write === undefined ? value : write
}
