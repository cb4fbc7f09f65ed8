/**
 * Decides batches: the combined changes of a request's operations, or the refusal of one of them. Nothing is written here.
 *
 * An operation's constraint is decided first. Several batches may be decided in turn on the same state: each sees the changes of
 * the earlier ones, and a refused batch leaves no trace.
 */
import { strict as assert } from 'node:assert'
import { type Constrained, holds, ValueText } from '../../../topics/constraint.js'
import { numberTextMax, sumOf } from '../../../topics/decimal.js'
import { valueOfItem } from '../../../topics/item.js'
import type { Path } from '../../../topics/path.js'
import { compatible, removalOf, retainsValue } from '../../../topics/properties.js'
import type { RemovalPolicy } from '../../../topics/removal/policy.js'
import type { Properties, TopicType } from '../../../topics/topic.js'
import type { Stored, StoredTopic } from '../../engine.js'
import { StoreError } from '../../errors.js'
import {
  type BatchResult,
  type ChangeVersion,
  type Creation,
  type RefusedOperation,
  refusals,
  type Versioned,
  type WriteEffect,
  type WriteOutcome,
  type WriteRefusal,
} from '../../topics.js'
import { newItem, noProperties, type Prepared, valueTextOf } from './operations.js'

/** Bytes of values cached per commit for repeated constraints; beyond that, they are read again. */
const constrainedBytesKeptMax = 64 * 1024 * 1024

/**
 * Bytes of stored values that one request's constraints may read. Reading and stripping a value of a megabyte takes 2 to 5 ms, and
 * a request is decided without a pause. A constraint that holds is itself as long as the value, apart from white space. Few
 * requests therefore need this much; one example is 4,000 failing constraints on values of 128 KiB.
 */
export const comparedBytesMax = 512 * 1024 * 1024

/** The parts of a topic that a decision reads first. */
export const headAlone = { head: true, item: false, version: false }

export function isRefused(result: BatchResult): result is RefusedOperation {
  return 'refusal' in result
}

/** The result of a batch of one operation. */
export function onlyOutcome(result: BatchResult): WriteOutcome | WriteRefusal {
  return isRefused(result) ? result.refusal : (result[0] as WriteOutcome | WriteRefusal)
}

/** The effect of batches on one path. A topic that is removed and created again counts as another topic. */
export interface Change {
  readonly path: Path
  readonly stored: FoundTopic | undefined
  /** The topic in `stored` is removed. */
  readonly isRemoved: boolean
  /** The operation that creates the resulting topic; undefined if that topic is not new. */
  readonly creator: (Prepared & Creation) | undefined
  /** The last operation that sets its value. */
  readonly setter: Prepared | undefined
  /** Set if the version of this change, or of an earlier one, is wanted: then each change has its own version. */
  readonly told: Told | undefined
}

/** The versions of the changes to one path, latest first. */
interface Told {
  readonly change: ChangeVersion
  readonly before: Told | undefined
}

/**
 * Values to compare with constraints. Each stored value is read only once, as long as the total is small. Values that operations
 * set are in memory anyway, and the size of the commit limits them.
 */
class ValueTexts {
  readonly #texts = new Map<Path | Prepared, ValueText>()
  #bytes = 0
  /** The bytes that the current request has read. */
  #comparedBytes = 0

  beginRequest(): void {
    this.#comparedBytes = 0
  }

  /** @throws StoreError `retry` if a request compares too many bytes */
  of(source: Path | Prepared, read: () => Uint8Array | undefined): ValueText | undefined {
    const known = this.#texts.get(source)
    const text = known === undefined ? read() : undefined
    if (text === undefined) return known
    const isStored = typeof source === 'string'
    if (isStored) this.#comparedBytes += text.length
    if (this.#comparedBytes > comparedBytesMax) throw new StoreError('retry', 'a request compares too many long values')
    const value = new ValueText(text)
    if (isStored) this.#bytes += value.bytes
    if (!isStored || this.#bytes <= constrainedBytesKeptMax) this.#texts.set(source, value)
    return value
  }
}

/** A topic as read for the decisions of one commit: its value is read only if constraints or increments need it. */
class FoundTopic implements Constrained {
  readonly type: TopicType
  readonly properties: Properties
  readonly policy: RemovalPolicy | undefined

  /** Skips the properties of a topic that is being removed: they may be damaged. @throws Error if they cannot be read */
  constructor(
    private readonly path: Path,
    readonly stored: StoredTopic,
    isRemoved: boolean,
    private readonly records: Stored,
    private readonly texts: ValueTexts,
  ) {
    const head = isRemoved ? undefined : stored.head()
    this.type = stored.type
    this.properties = head?.properties ?? noProperties
    this.policy = head && removalOf(head.properties)
  }

  hasValue(): boolean {
    return this.valueText() !== undefined
  }

  hasText(text: Uint8Array): boolean {
    const read = (): Buffer | undefined => {
      const value = this.valueText()
      return value && Buffer.from(value)
    }
    return this.texts.of(this.path, read)?.is(text) === true
  }

  hasVersion(version: number): boolean {
    return this.version() === version
  }

  version(): number | undefined {
    return this.records.topic(this.path, this.type, { head: false, item: false, version: true })?.version
  }

  /** A view, valid until the next read; undefined if there is no value. */
  valueText(): Uint8Array | undefined {
    const item = this.records.topic(this.path, this.type, { head: false, item: true, version: false })?.item
    return item && valueOfItem(item, this.path, this.type)
  }
}

export class BatchDecisions {
  readonly #changes = new Map<Path, Change>()
  readonly #texts = new ValueTexts()

  constructor(private readonly stored: Stored) {}

  /** @throws StoreError `retry` if the constraints compare too many stored bytes; Error if a stored topic is damaged */
  decide(actions: readonly Prepared[], isAtomic: boolean): BatchResult {
    this.#texts.beginRequest()
    const before: (readonly [Path, Change | undefined])[] = []
    let isDone = false
    try {
      const outcomes: (WriteOutcome | WriteRefusal)[] = []
      for (const action of actions) {
        const former = this.#changes.get(action.path)
        const change = former ?? this.#unchanged(action)
        const outcome = this.#outcome(action, change)
        if (isRefusal(outcome)) {
          if (isAtomic) return { index: outcomes.length, refusal: outcome }
          outcomes.push(outcome)
          continue
        }
        before.push([action.path, former])
        const next = after(action, change, outcome)
        this.#changes.set(action.path, next)
        outcomes.push(action.wantsVersion === true ? versioned(outcome, next) : outcome)
      }
      isDone = true
      return outcomes
    } finally {
      // Refused, or a topic could not be read: undo the earlier operations.
      if (!isDone) for (const [path, former] of before.reverse()) this.#restore(path, former)
    }
  }

  /** Forgets a topic that was read for an undone operation: for a removal, its properties were skipped. */
  #restore(path: Path, former: Change | undefined): void {
    if (former === undefined) this.#changes.delete(path)
    else this.#changes.set(path, former)
  }

  /** The change that the batches have made so far; undefined if they have not changed the topic. */
  changeOf(path: Path): Change | undefined {
    const change = this.#changes.get(path)
    return change !== undefined && isChanged(change) ? change : undefined
  }

  /** One change per path; refused batches leave none. */
  *changes(): Generator<Change> {
    for (const change of this.#changes.values()) if (isChanged(change)) yield change
  }

  #unchanged({ path, kind }: Prepared): Change {
    const topic = this.stored.topic(path, undefined, headAlone)
    const stored = topic && new FoundTopic(path, topic, kind === 'remove', this.stored, this.#texts)
    return { path, stored, isRemoved: false, creator: undefined, setter: undefined, told: undefined }
  }

  #outcome(action: Prepared, change: Change): WriteEffect | WriteRefusal {
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

  #incremented(action: Prepared, { stored, creator, setter }: Change): WriteEffect | WriteRefusal {
    const isKept = retainsValue((creator ?? stored)?.properties ?? {})
    // Read the stored value only if no operation in the batches has set it: reading it costs more than the addition.
    let value: Uint8Array | undefined
    if (setter !== undefined && isKept) value = valueTextOf(setter)
    else if (creator === undefined) value = stored?.valueText()
    const added = valueTextOf(action)
    const valueText = value && added && sumOf(numberText(value), numberText(added))
    return valueText === undefined ? 'not_a_number' : { valueText }
  }

  #constrained({ stored, creator, setter }: Change): Constrained {
    if (setter === undefined) return creator === undefined && stored !== undefined ? stored : withoutValue
    if (!retainsValue((creator ?? stored)?.properties ?? {})) return withoutValue
    const value = () => this.#texts.of(setter, () => valueTextOf(setter))
    return { ...withoutValue, hasValue: () => true, hasText: (text) => value()?.is(text) === true }
  }
}

function isChanged({ isRemoved, creator, setter, told }: Change): boolean {
  return isRemoved || creator !== undefined || setter !== undefined || told !== undefined
}

/** The text of a possible number; empty if it is too long to be a number. */
function numberText(text: Uint8Array): string {
  return text.length > numberTextMax ? '' : Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1')
}

/** A topic that the batches have changed and that has no value. It has no version until it is written. */
const withoutValue: Constrained = { hasValue: () => false, hasText: () => false, hasVersion: () => false }

function after(action: Prepared, change: Change, effect: WriteEffect): Change {
  const { path, stored, isRemoved, creator } = change
  if (effect === 'nothing_removed') return change
  if (effect === 'present') {
    const isWanted = action.wantsVersion === true && change.told === undefined && isChanged(change)
    return isWanted ? { ...change, told: toldAfter(undefined) } : change
  }
  const told = action.wantsVersion === true || change.told !== undefined ? toldAfter(change.told) : undefined
  if (typeof effect !== 'string') {
    const { type = 'json' } = action
    return { ...change, setter: { ...action, item: newItem(path, type, Buffer.from(effect.valueText)) }, told }
  }
  switch (effect) {
    case 'set':
    case 'updated':
      return { path, stored, isRemoved, creator, setter: action, told }
    case 'created':
      assert(action.kind === 'add' || action.kind === 'addAndSet', 'no other operation creates a topic')
      return { path, stored, isRemoved, creator: action, setter: action.kind === 'add' ? undefined : action, told }
    case 'removed':
      return { path, stored, isRemoved: stored !== undefined, creator: undefined, setter: undefined, told }
    default:
      return effect satisfies never
  }
}

function toldAfter(before: Told | undefined): Told {
  return { change: { version: 0 }, before }
}

/** @param change the path's change after an operation that wants its version */
function versioned(effect: WriteEffect, { stored, told }: Change): WriteOutcome {
  if (effect === 'nothing_removed') return effect
  return { effect, change: told?.change ?? { version: stored?.version() ?? 0 } }
}

export function isVersioned(outcome: WriteOutcome | WriteRefusal): outcome is Versioned {
  return typeof outcome === 'object' && 'effect' in outcome
}

export function isRefusal<Outcome extends WriteOutcome>(outcome: Outcome | WriteRefusal): outcome is WriteRefusal {
  return (refusals as readonly unknown[]).includes(outcome)
}
