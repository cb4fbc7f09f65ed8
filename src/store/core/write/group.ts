/**
 * Decides the requests of one commit, each based on the stored records and the earlier decisions. Nothing is written until all are
 * decided, so nothing needs to be undone.
 */
import type { Moment } from '../../../base/clock.js'
import { retainsValue } from '../../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../../topics/removal/policy.js'
import type {
  Changes,
  Decider,
  DuePlace,
  Group,
  ItemBytes,
  NeededPart,
  Needs,
  NewTopic,
  Stored,
  WriteSize,
} from '../../engine.js'
import type { BatchResult, ChangeVersion, Creation } from '../../topics.js'
import { BatchDecisions, type Change } from './batch.js'
import { DueDecisions, type DueOutcome } from './due.js'
import { newItem, type Prepared, sizeOf } from './operations.js'
import { type RecordChange, RecordDecisions, sizeOfChange, tablesOf } from './records.js'

/** Each request is executed within one commit. */
export type Request =
  | { readonly operations: readonly Prepared[]; readonly isAtomic: boolean }
  | { readonly change: RecordChange }
  | { readonly due: readonly DuePlace[]; readonly endsPolicies: boolean }

/** For a record change, false if it was rejected. */
export type Outcome = BatchResult | boolean | DueOutcome

export const decider: Decider<Request, Outcome> = {
  sizeOf: sizeOfRequest,
  begin: (stored, moment) => new WriteGroup(stored, moment),
}

function sizeOfRequest(request: Request): WriteSize {
  if ('operations' in request) return sizeOf(request.operations)
  if ('change' in request) return sizeOfChange(request.change)
  return { operations: request.due.length, bytes: 0, grows: false }
}

export function needsOf(request: Request): Needs {
  if ('change' in request) return { topics: [], records: tablesOf(request.change) }
  if ('due' in request) {
    const topics = request.due.flatMap(({ path }) => (path === undefined ? [] : [{ path, reads: 'version' } as const]))
    return { topics, records: [] }
  }
  return {
    topics: request.operations.map((operation) => ({ path: operation.path, reads: readBy(operation) })),
    records: [],
  }
}

function readBy({ kind, constraint, wantsVersion }: Prepared): NeededPart {
  if (kind === 'increment' || constraint?.kind === 'value' || constraint?.kind === 'no_value') return 'item'
  return constraint?.kind === 'version' || (kind === 'add' && wantsVersion) ? 'version' : 'constants'
}

class WriteGroup implements Group<Request, Outcome> {
  readonly #topics: BatchDecisions
  readonly #records: RecordDecisions
  readonly #due: DueDecisions

  constructor(stored: Stored, moment: Moment) {
    this.#topics = new BatchDecisions(stored)
    this.#records = new RecordDecisions(stored)
    this.#due = new DueDecisions(stored, moment, this.#topics)
  }

  /** @throws as `BatchDecisions.decide` */
  decide(request: Request): Outcome {
    if ('change' in request) return this.#records.decide(request.change)
    if ('due' in request) return this.#due.decide(request.due, request.endsPolicies)
    return this.#topics.decide(request.operations, request.isAtomic)
  }

  end(changes: Changes): void {
    for (const change of this.#topics.changes()) putChange(changes, change)
    this.#due.end(changes)
    this.#records.end(changes)
  }
}

/** Each write that wants a version gets its own: a client that finds the topic with that version knows that no later write followed. */
function putChange(changes: Changes, change: Change): void {
  const { path, told } = change
  if (told === undefined) return void makeChange(changes, change)
  const earlier: ChangeVersion[] = []
  for (let one = told.before; one !== undefined; one = one.before) earlier.push(one.change)
  for (const version of earlier.reverse()) {
    changes.pass(path)
    changes.tellVersion(version)
  }
  if (!makeChange(changes, change)) changes.pass(path)
  changes.tellVersion(told.change)
}

/** @returns false if the topic existed neither before nor after */
function makeChange(changes: Changes, { path, stored: found, isRemoved, creator, setter }: Change): boolean {
  if (creator !== undefined) {
    const former = isRemoved ? found?.stored : undefined
    changes.create(newTopic(creator, (setter ?? creator).item as ItemBytes, changes.moment), former)
  } else if (found === undefined) return false
  else if (isRemoved) changes.remove(path, found.stored)
  else if (setter?.item !== undefined) {
    const { type, stored, properties, policy } = found
    const item = retainsValue(properties) ? setter.item : newItem(path, type, undefined)
    changes.update(path, stored, item, policy !== undefined && tracksUpdates(policy))
  }
  return true
}

/** @param item includes the value that is set, if any */
function newTopic({ path, type, properties, removal }: Creation, item: ItemBytes, { wallMs }: Moment): NewTopic {
  return {
    path,
    type,
    properties,
    item: retainsValue(properties) ? item : newItem(path, type, undefined),
    dueMs: removal && dueMs(removal, wallMs, wallMs),
    tracksUpdates: removal !== undefined && tracksUpdates(removal),
  }
}
