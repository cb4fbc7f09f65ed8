/**
 * Batches: what the operations of one request change together, or which of them is refused. Engines read topics and
 * make the changes.
 *
 * An operation's constraint is decided first. Several batches may be decided one after the other over one state: each
 * sees what those before it have changed, and one that is refused leaves no trace.
 */
import { strict as assert } from 'node:assert'
import { type Constrained, holds, ValueText } from '../../../topics/constraint.js'
import { numberTextMax, sumOf } from '../../../topics/decimal.js'
import type { Path } from '../../../topics/path.js'
import { compatible, retainsValue } from '../../../topics/properties.js'
import type { Properties, TopicType } from '../../../topics/topic.js'
import type {
  BatchResult,
  Creation,
  Incremented,
  RefusedOperation,
  TopicWriter,
  WriteAction,
  WriteOperation,
  WriteOutcome,
  WriteRefusal,
} from '../../topics.js'

/** Whether a batch was refused. */
export function isRefused(result: BatchResult): result is RefusedOperation {
  return 'refusal' in result
}

/** Carries out one operation. */
export async function writeOne(store: TopicWriter, operation: WriteOperation): Promise<WriteOutcome | WriteRefusal> {
  const result = await store.write([operation])
  return isRefused(result) ? result.refusal : (result[0] as WriteOutcome | WriteRefusal)
}

/** A topic as an engine has read it, before any of the batches. */
export interface DecidedTopic extends Constrained {
  readonly type: TopicType
  readonly properties: Properties
  /** Its value, for an increment; undefined without one, and perhaps if it is longer than any number. */
  valueText(): Uint8Array | undefined
}

/** What batches make of the topic at one path. A topic that is removed and created again is another one. */
export interface Change<Stored, Action> {
  readonly path: Path
  /** The topic as it was read; undefined where there was none. */
  readonly stored: Stored | undefined
  /** Whether that one is removed. */
  readonly isRemoved: boolean
  /** The operation that creates the topic that is there afterwards; undefined if it is not new. */
  readonly creator: (Action & Creation) | undefined
  /** The last operation that sets its value. */
  readonly setter: Action | undefined
}

/** How an engine reads what decisions depend on. */
interface Reader<Stored, Action> {
  /** The topic at a path, before any of the batches. @param kind of the operation that asks for it */
  stored(path: Path, kind: WriteAction['kind']): Stored | undefined
  /** The `valueText` of an operation; of one that sets a value, only where what follows depends on that. */
  valueText(action: Action): Uint8Array | undefined
  /** What sets this value, in place of an increment. */
  setterOf(increment: Action, valueText: string): Action
}

export class BatchDecisions<Stored extends DecidedTopic, Action extends WriteAction> {
  readonly #changes = new Map<Path, Change<Stored, Action>>()
  /** Values that the batches set and constraints were compared with. */
  readonly #texts = new Map<Action, ValueText>()

  constructor(private readonly reader: Reader<Stored, Action>) {}

  /** Decides one batch, in order, over what is stored and what the batches before it have changed. */
  decide(actions: readonly Action[], isAtomic: boolean): BatchResult {
    const before: Change<Stored, Action>[] = []
    let isDone = false
    try {
      const outcomes: (WriteOutcome | WriteRefusal)[] = []
      for (const action of actions) {
        const change = this.#changes.get(action.path) ?? this.#unchanged(action)
        const outcome = this.#outcome(action, change)
        if (isRefusal(outcome)) {
          if (isAtomic) return { index: outcomes.length, action, refusal: outcome }
          outcomes.push(outcome)
          continue
        }
        before.push(change)
        this.#changes.set(action.path, this.#after(action, change, outcome))
        outcomes.push(outcome)
      }
      isDone = true
      return outcomes
    } finally {
      // Refused, or a topic could not be read: the operations before that one are undone.
      if (!isDone) for (const earlier of before.reverse()) this.#changes.set(earlier.path, earlier)
    }
  }

  /** What the batches before have made of the topic at a path; undefined if they have not changed it. */
  changeOf(path: Path): Change<Stored, Action> | undefined {
    const change = this.#changes.get(path)
    return change !== undefined && isChanged(change) ? change : undefined
  }

  /** What the batches that were not refused have changed, each path once. */
  *changes(): Generator<Change<Stored, Action>> {
    for (const change of this.#changes.values()) if (isChanged(change)) yield change
  }

  #unchanged({ path, kind }: Action): Change<Stored, Action> {
    const stored = this.reader.stored(path, kind)
    return { path, stored, isRemoved: false, creator: undefined, setter: undefined }
  }

  #outcome(action: Action, change: Change<Stored, Action>): WriteOutcome | WriteRefusal {
    const topic = change.creator ?? (change.isRemoved ? undefined : change.stored)
    const { constraint } = action
    if (constraint !== undefined && !holds(constraint, topic && this.#constrained(change))) {
      return 'unsatisfied_constraint'
    }
    switch (action.kind) {
      case 'set':
        if (topic === undefined) return 'no_such_topic'
        return topic.type === action.type ? 'set' : 'incompatible_type'
      case 'add':
        return topic === undefined ? 'created' : 'present'
      case 'addAndSet':
        if (topic === undefined) return 'created'
        if (topic.type !== action.type) return 'incompatible_type'
        return compatible(topic.properties, action.properties) ? 'updated' : 'incompatible_properties'
      case 'remove':
        return topic === undefined ? 'nothing_removed' : 'removed'
      case 'increment':
        if (topic === undefined) return 'no_such_topic'
        return topic.type === action.type ? this.#incremented(action, change) : 'incompatible_type'
      default:
        return action satisfies never
    }
  }

  #incremented(action: Action, { stored, creator, setter }: Change<Stored, Action>): WriteOutcome | WriteRefusal {
    const isKept = retainsValue((creator ?? stored)?.properties ?? {})
    // What is stored is read only where nothing in the batches has set the value: reading costs more than the sum.
    let value: Uint8Array | undefined
    if (setter !== undefined && isKept) value = this.reader.valueText(setter)
    else if (creator === undefined) value = stored?.valueText()
    const added = this.reader.valueText(action)
    const valueText = value && added && sumOf(numberText(value), numberText(added))
    return valueText === undefined ? 'not_a_number' : { valueText }
  }

  /** The change after one more operation. */
  #after(action: Action, change: Change<Stored, Action>, outcome: WriteOutcome): Change<Stored, Action> {
    if (typeof outcome === 'string') return after(action, change, outcome)
    const { path, stored, isRemoved, creator } = change
    return { path, stored, isRemoved, creator, setter: this.reader.setterOf(action, outcome.valueText) }
  }

  /** The topic that is there, for a constraint. */
  #constrained({ stored, creator, setter }: Change<Stored, Action>): Constrained {
    if (setter === undefined) return creator === undefined && stored !== undefined ? stored : withoutValue
    if (!retainsValue((creator ?? stored)?.properties ?? {})) return withoutValue
    return { ...withoutValue, hasValue: () => true, hasText: (text) => this.#textOf(setter)?.is(text) === true }
  }

  /** The value that an operation sets. */
  #textOf(setter: Action): ValueText | undefined {
    let known = this.#texts.get(setter)
    if (known === undefined) {
      const text = this.reader.valueText(setter)
      if (text === undefined) return undefined
      known = new ValueText(text)
      this.#texts.set(setter, known)
    }
    return known
  }
}

function isChanged({ isRemoved, creator, setter }: Change<unknown, unknown>): boolean {
  return isRemoved || creator !== undefined || setter !== undefined
}

/** The text of what may be a number; a longer text is none. */
function numberText(text: Uint8Array): string {
  return text.length > numberTextMax ? '' : Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1')
}

/** A topic without a value that the batches have changed: it gets its version when that is written. */
const withoutValue: Constrained = { hasValue: () => false, hasText: () => false, hasVersion: () => false }

/** The change after one more operation, which computes nothing. */
function after<Stored, Action extends WriteAction>(
  action: Action,
  change: Change<Stored, Action>,
  outcome: Exclude<WriteOutcome, Incremented>,
): Change<Stored, Action> {
  const { path, stored, isRemoved, creator } = change
  switch (outcome) {
    case 'present':
    case 'nothing_removed':
      return change
    case 'set':
    case 'updated':
      return { path, stored, isRemoved, creator, setter: action }
    case 'created':
      assert(isCreating(action), 'no other operation creates a topic')
      return { path, stored, isRemoved, creator: action, setter: action.kind === 'addAndSet' ? action : undefined }
    case 'removed':
      return { path, stored, isRemoved: stored !== undefined, creator: undefined, setter: undefined }
    default:
      return outcome satisfies never
  }
}

function isCreating<Action extends WriteAction>(action: Action): action is Action & Creation {
  return action.kind === 'add' || action.kind === 'addAndSet'
}

/** Whether an operation was refused. */
export function isRefusal(outcome: WriteOutcome | WriteRefusal): outcome is WriteRefusal {
  switch (outcome) {
    case 'no_such_topic':
    case 'incompatible_type':
    case 'incompatible_properties':
    case 'unsatisfied_constraint':
    case 'not_a_number':
      return true
    default:
      return false
  }
}
