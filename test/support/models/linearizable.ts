/**
 * Checks whether a history of one topic is consistent with a single copy of it: each operation takes effect at one instant between its call
 * and its response. This is linearizability, for a register with compare-and-set that can also be absent.
 *
 * The check walks calls and responses in order of time and keeps every possible state of the topic: its value, and the operations in flight
 * that have taken effect. When an operation gets a response, only the states in which it has taken effect remain; there must be at least
 * one.
 *
 * Operations without a response may take effect at any time after their call, or never. A write whose value was read had taken effect by
 * then. The others are not distinguished, or there would be too many states. Writes of values that were never read cannot explain a read,
 * only that a topic was found, and may do so any number of times. For removals, only the number that have taken effect counts. Of two
 * states that differ only in this number, the one with fewer allows everything that the other does. At the death of all processes that
 * could execute these operations, they have taken effect or never will.
 */
import { at } from '../elements.js'

/** A value; null if the topic does not exist. */
export type Value = string | null

export interface Operation {
  readonly startMs: number
  /** Undefined without a response. */
  readonly endMs: number | undefined
  /**
   * The first death after its start, if it has no response. All processes that could execute operations die together: after a death, no
   * earlier operation takes effect any more.
   */
  readonly deadMs?: number | undefined
  /** The previous value, according to the response; undefined if the response does not reveal it. */
  readonly read?: Value
  /** A value that the topic did not have before, according to the response; undefined if the response does not reveal one. */
  readonly notRead?: Value
  /** Whether the topic existed before, according to the response; undefined if the response does not reveal it. */
  readonly found?: boolean
  /** The topic's version, according to a response that also contains the value; undefined if the response has no version. */
  readonly version?: number
  /** The value afterwards; undefined if the operation changes nothing. */
  readonly write?: Value
}

/** The first operation that cannot be explained, and the operations in flight at its response. */
export interface Violation {
  readonly operation: Operation
  readonly inFlight: readonly Operation[]
  /** The values that were possible before the operation, according to all earlier responses. */
  readonly possible: readonly Value[]
}

interface State {
  readonly value: Value
  /** The operations in flight that have taken effect, by their indices in the history. */
  readonly done: ReadonlySet<number>
  /** Number of removals without a response that have taken effect. */
  readonly removals: number
}

/** The possible effects so far of operations without a response. */
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
 * @param history the operations of one topic, in any order; no two writes of the same value
 * @param initial the value before all operations
 * @returns undefined if the history is linearizable
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

/** At the same instant, calls precede responses, so that both orders are allowed, and deaths follow both. */
const order = { call: 0, 'unanswered removal': 0, 'unread write': 0, answer: 1, death: 2 } as const

/** Calls, responses and deaths in order of time. */
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

/** The latest time by which each value that was read had been written: the first response that contains it. */
function readTimes(history: readonly Operation[]): ReadonlyMap<Value, number> {
  const readMs = new Map<Value, number>()
  const unanswered = new Map<Value, Operation>()
  for (const operation of history) {
    const { write, endMs } = operation
    if (endMs === undefined && typeof write === 'string') unanswered.set(write, operation)
  }
  for (const { read, endMs } of history) {
    // A value that only a compare-and-set without a response could have written reveals the value before it.
    for (let value = read; value !== undefined && endMs !== undefined; value = unanswered.get(value)?.read) {
      if ((readMs.get(value) ?? Infinity) <= endMs) break
      readMs.set(value, endMs)
    }
  }
  return readMs
}

/** The states after the response to the operation at `index`; others in flight may have taken effect before it. */
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

/** These states, and all that operations in flight or without a response can lead to; final states lead to no others. */
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

/** The same states with no removal left to take effect. */
function withoutRemovals(states: readonly State[]): readonly State[] {
  const next = new Map<string, State>()
  for (const state of states) keepIfBetter(next, { ...state, removals: 0 })
  return [...next.values()]
}

/** Keeps the state if it is new, or needs fewer removals than the known one; returns whether it was kept. */
function keepIfBetter(known: Map<string, State>, state: State): boolean {
  const name = `${[...state.done].sort((a, b) => a - b).join(',')} ${state.value}`
  const like = known.get(name)
  if (like !== undefined && like.removals <= state.removals) return false
  known.set(name, state)
  return true
}

/** The value after the operation; undefined if its response contradicts the value before. */
function effect({ read, notRead, found, write }: Operation, value: Value): Value | undefined {
  if (read !== undefined && read !== value) return undefined
  if (notRead !== undefined && notRead === value) return undefined
  if (found !== undefined && found !== (value !== null)) return undefined
  return write === undefined ? value : write
}
