/**
 * Whether a history of one topic could have come from a single copy of it: each operation takes effect at one instant
 * between its call and its answer (linearizability, for a register that can also be absent).
 *
 * The check walks calls and answers in the order of time, with every state that the topic may be in: its value, and which
 * of the operations under way have taken effect. When an operation is answered, it must have taken effect in some of
 * them; those alone remain. Operations without an answer stay under way for ever: they may take effect at any time, or never.
 */

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

/** What the first operation was that can not be explained, and with what it was under way. */
export interface Violation {
  readonly operation: Operation
  readonly underWay: readonly Operation[]
  /** What may have stood before it, as far as every answer until then tells. */
  readonly possible: readonly Value[]
}

interface State {
  readonly value: Value
  /** The operations under way that have taken effect, by their places in the history. */
  readonly done: ReadonlySet<number>
}

/**
 * @param history the operations of one topic, in any order; no two writes of one value
 * @param initial what stands before all of them
 * @returns undefined for a history that is linearizable
 */
export function findViolation(history: readonly Operation[], initial: Value = null): Violation | undefined {
  const operations = relevant(history)
  const events = operations
    .flatMap((operation, place) => [
      { place, atMs: operation.startMs, isAnswer: false },
      ...(operation.endMs === undefined ? [] : [{ place, atMs: operation.endMs, isAnswer: true }]),
    ])
    // At one instant calls come before answers: the clock may be too coarse to tell, and in doubt both orders are allowed.
    .sort((a, b) => a.atMs - b.atMs || Number(a.isAnswer) - Number(b.isAnswer))
  const underWay = new Set<number>()
  let states: readonly State[] = [{ value: initial, done: new Set() }]
  for (const { place, isAnswer } of events) {
    if (!isAnswer) {
      underWay.add(place)
      continue
    }
    const next = answered(place, states, underWay, operations)
    if (next.length === 0) {
      return {
        operation: operations[place],
        underWay: [...underWay].map((other) => operations[other]),
        possible: [...new Set(states.map(({ value }) => value))],
      }
    }
    underWay.delete(place)
    states = next
  }
  return undefined
}

/** Stands for every value that nobody read. */
const unreadValue = '(a value that nobody read)'

/**
 * A write that got no answer but whose value was read had taken effect by then. Those whose values nobody read can only
 * show in that a topic was found: one operation, which may take effect as often as it likes, stands for them all. It keeps
 * the number of states small, and explains no read. So only removals without an answer are under way for ever.
 */
function relevant(history: readonly Operation[]): readonly Operation[] {
  const readBy = new Map<Value, number>()
  for (const { read, endMs } of history) {
    if (read !== undefined && endMs !== undefined) readBy.set(read, Math.min(readBy.get(read) ?? Infinity, endMs))
  }
  let unreadFromMs = Infinity
  const kept = history.flatMap((operation) => {
    const { write, startMs, endMs } = operation
    if (endMs !== undefined || write === null) return operation
    const readMs = write === undefined ? undefined : readBy.get(write)
    if (readMs !== undefined) return { ...operation, endMs: Math.max(readMs, startMs) }
    if (write !== undefined) unreadFromMs = Math.min(unreadFromMs, startMs)
    return []
  })
  return unreadFromMs === Infinity ? kept : [...kept, { startMs: unreadFromMs, endMs: undefined, write: unreadValue }]
}

/** The states after the answer to the operation at `place`: some operations under way took effect before it, then it did. */
function answered(
  place: number,
  states: readonly State[],
  underWay: ReadonlySet<number>,
  operations: readonly Operation[],
): readonly State[] {
  const next = new Map<string, State>()
  const seen = new Set<string>()
  const left = [...states]
  for (let state = left.pop(); state !== undefined; state = left.pop()) {
    const name = nameOf(state)
    if (seen.has(name)) continue
    seen.add(name)
    if (state.done.has(place)) {
      const done = new Set(state.done)
      done.delete(place)
      const remaining = { value: state.value, done }
      next.set(nameOf(remaining), remaining)
      continue
    }
    for (const other of underWay) {
      if (state.done.has(other)) continue
      const value = effect(operations[other], state.value)
      if (value === undefined) continue
      const done = value === unreadValue ? state.done : new Set(state.done).add(other)
      left.push({ value, done })
    }
  }
  return [...next.values()]
}

/** What stands after the operation; undefined when its answer contradicts what stood before. */
function effect({ read, found, write }: Operation, value: Value): Value | undefined {
  if (read !== undefined && read !== value) return undefined
  if (found !== undefined && found !== (value !== null)) return undefined
  return write === undefined ? value : write
}

function nameOf({ value, done }: State): string {
  return `${[...done].sort((a, b) => a - b).join(',')} ${value}`
}
