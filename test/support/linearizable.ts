/**
 * Whether a history of one topic could have come from a single copy of it: each operation takes effect at one instant
 * between its call and its answer (linearizability, for a register that can also be absent).
 *
 * The check walks calls and answers in the order of time, with every state that the topic may be in: its value, and which
 * of the operations in flight have taken effect. When an operation is answered, it must have taken effect in some of
 * them; those alone remain.
 *
 * Operations without an answer may take effect at any time after their call, or never. A write of a value that was read had
 * taken effect by then. The others are not told apart, or there would be too many states: writes of values that nobody read
 * explain no read, only that a topic was found, and may do so as often as they are needed; of removals it is counted how many
 * have taken effect, and of two states that differ in nothing else, the one with fewer can do whatever the other can.
 */
import { at } from './only.js'

/** A value; null where no topic is. */
export type Value = string | null

export interface Operation {
  readonly startMs: number
  /** Undefined when no answer came. */
  readonly endMs: number | undefined
  /** What the answer says stood before; undefined when it says nothing of it. */
  readonly read?: Value
  /** Whether the answer says that a topic stood before; undefined when it says nothing of it. */
  readonly found?: boolean
  /** What stands afterwards; undefined when nothing is changed. */
  readonly write?: Value
}

/** What the first operation was that cannot be explained, and with what it was in flight. */
export interface Violation {
  readonly operation: Operation
  readonly underWay: readonly Operation[]
  /** What may have stood before it, as far as every answer until then tells. */
  readonly possible: readonly Value[]
}

interface State {
  readonly value: Value
  /** The operations in flight that have taken effect, by their places in the history. */
  readonly done: ReadonlySet<number>
  /** How many removals without an answer have taken effect. */
  readonly removals: number
}

/** What operations without an answer may do by now. */
interface Unanswered {
  removals: number
  hasWritten: boolean
}

/** Stands for every value that nobody read. */
const unreadValue = '(a value that nobody read)'

type Event = { readonly atMs: number } & (
  | { readonly kind: 'call' | 'answer'; readonly place: number }
  | { readonly kind: 'unanswered removal' | 'unread write' }
)

/**
 * @param history the operations of one topic, in any order; no two writes of one value
 * @param initial what stands before all of them
 * @returns undefined for a history that is linearizable
 */
export function findViolation(history: readonly Operation[], initial: Value = null): Violation | undefined {
  const underWay = new Set<number>()
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
        underWay.add(event.place)
        break
      case 'answer': {
        const next = answered(event.place, states, underWay, unanswered, history)
        if (next.length === 0) {
          return {
            operation: at(history, event.place),
            underWay: [...underWay].map((other) => at(history, other)),
            possible: [...new Set(states.map(({ value }) => value))],
          }
        }
        underWay.delete(event.place)
        states = next
      }
    }
  }
  return undefined
}

/** Calls and answers in the order of time. At one instant calls come first: in doubt both orders are allowed. */
function eventsOf(history: readonly Operation[]): readonly Event[] {
  const readMs = new Map<Value, number>()
  for (const { read, endMs } of history) {
    if (read !== undefined && endMs !== undefined) readMs.set(read, Math.min(readMs.get(read) ?? Infinity, endMs))
  }
  const events = history.flatMap(({ startMs, endMs, write }, place): readonly Event[] => {
    const known = endMs ?? (typeof write === 'string' ? readMs.get(write) : undefined)
    if (known !== undefined) {
      return [
        { kind: 'call', place, atMs: startMs },
        { kind: 'answer', place, atMs: Math.max(known, startMs) },
      ]
    }
    if (write === undefined) return []
    return [{ kind: write === null ? 'unanswered removal' : 'unread write', atMs: startMs }]
  })
  return events.sort((a, b) => a.atMs - b.atMs || Number(a.kind === 'answer') - Number(b.kind === 'answer'))
}

/** The states after the answer to the operation at `place`: some operations in flight took effect before it, then it did. */
function answered(
  place: number,
  states: readonly State[],
  underWay: ReadonlySet<number>,
  unanswered: Unanswered,
  history: readonly Operation[],
): readonly State[] {
  const next = new Map<string, State>()
  const seen = new Map<string, State>()
  const left = [...states]
  for (let state = left.pop(); state !== undefined; state = left.pop()) {
    if (!isBetter(seen, state)) continue
    const { value, done, removals } = state
    if (done.has(place)) {
      const remaining = new Set(done)
      remaining.delete(place)
      isBetter(next, { value, done: remaining, removals })
      continue
    }
    for (const other of underWay) {
      if (done.has(other)) continue
      const after = effect(at(history, other), value)
      if (after !== undefined) left.push({ value: after, done: new Set(done).add(other), removals })
    }
    if (value !== null && removals < unanswered.removals) left.push({ value: null, done, removals: removals + 1 })
    if (unanswered.hasWritten && value !== unreadValue) left.push({ value: unreadValue, done, removals })
  }
  return [...next.values()]
}

/** Whether the state is new, or has used fewer removals than its like; it is kept then. */
function isBetter(known: Map<string, State>, state: State): boolean {
  const name = `${[...state.done].sort((a, b) => a - b).join(',')} ${state.value}`
  const like = known.get(name)
  if (like !== undefined && like.removals <= state.removals) return false
  known.set(name, state)
  return true
}

/** What stands after the operation; undefined when its answer contradicts what stood before. */
function effect({ read, found, write }: Operation, value: Value): Value | undefined {
  if (read !== undefined && read !== value) return undefined
  if (found !== undefined && found !== (value !== null)) return undefined
  return write === undefined ? value : write
}
