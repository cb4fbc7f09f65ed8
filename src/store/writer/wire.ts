/**
 * The wire format of requests to the writer and of their outcomes. A request carries operations or changes to API keys, never lmdb
 * keys or records: the writer decides the request's effect. session.ts and receipts.ts number the requests and ensure that each is
 * answered once.
 *
 *     to the writer      hello:     protocol, client, last number answered, 1, last number given
 *                        requests:  number up to which all are answered, number of the first, whether it watches the
 *                                   log, requests
 *     from the writer    hello:     protocol, last number taken, outcomes
 *                        outcomes:  for each, its number, its kind, and the rest
 *                        notice:    nothing, or 0 and the record of a commit: the log has grown
 *
 * A client that watches the log gets a notice immediately, and after each commit that changed topics. A notice with the record
 * saves the client from reading the log if no change affects it. Long records are not sent, nor is any record sent to a client
 * whose hello has no 1, such as one of version 1.0.0.
 */

import type { ByteReader, ByteWriter } from '../../base/bytes.js'
import { itemBytesMax, writeItem } from '../../topics/item.js'
import { removalOf } from '../../topics/properties.js'
import type { Properties } from '../../topics/topic.js'
import { isVersioned } from '../core/write/batch.js'
import type { Request } from '../core/write/group.js'
import { noProperties, type Prepared } from '../core/write/operations.js'
import type { RecordChange } from '../core/write/records.js'
import type { LoggedRecord } from '../engine.js'
import { StoreError } from '../errors.js'
import {
  type BatchResult,
  effects,
  refusals,
  type WriteAction,
  type WriteEffect,
  type WriteOperation,
  type WriteOutcome,
  type WriteRefusal,
} from '../topics.js'

/** The version of this format. A process of another build is rejected if its version differs. */
export const protocolVersion = 3

/** For operations, their result; for a change, false if it was rejected. */
export type Outcome = BatchResult | boolean | Error

const requestKinds = { operations: 1, change: 2, eachOperation: 3 } as const

const kinds: readonly WriteAction['kind'][] = ['set', 'addAndSet', 'add', 'remove', 'increment']
const kindBits = 0b111
const isString = 0b1000
const hasProperties = 0b1_0000
const hasConstraint = 0b10_0000
const hasConstraintText = 0b100_0000
/** A 1.0.0 writer ignores this flag, and sends no version. */
const asksVersion = 0b1000_0000

/** Copies all parts of the operations. */
export function writeOperations(out: ByteWriter, operations: readonly WriteOperation[], isAtomic: boolean): void {
  out.byte(isAtomic ? requestKinds.operations : requestKinds.eachOperation)
  out.uint32(operations.length)
  for (const operation of operations) writeOperation(out, operation)
}

function writeOperation(out: ByteWriter, operation: WriteOperation): void {
  const { kind, path, type, properties = noProperties, valueText, constraint } = operation
  const isPropertied = Object.keys(properties).length > 0
  const text = constraint?.kind === 'value' ? constraint.text : undefined
  let flags = kinds.indexOf(kind)
  if (type === 'string') flags |= isString
  if (isPropertied) flags |= hasProperties
  if (operation.wantsVersion === true) flags |= asksVersion
  if (constraint !== undefined) flags |= text === undefined ? hasConstraint : hasConstraint | hasConstraintText
  out.byte(flags)
  out.text(path)
  if (type !== undefined) {
    const start = out.sized(itemBytesMax(path, valueText))
    out.endSized(writeItem(out.buffer, start, path, type, valueText))
  }
  if (isPropertied) out.text(JSON.stringify(properties))
  if (constraint === undefined) return
  if (text === undefined) out.text(JSON.stringify(constraint))
  else out.bytes(text)
}

export function writeChange(out: ByteWriter, change: RecordChange): void {
  out.byte(requestKinds.change)
  out.text(JSON.stringify(change))
}

/** The request's items are views into `frame`. */
export function readRequest(from: ByteReader, frame: Buffer): Request {
  const kind = from.byte()
  if (kind === requestKinds.change) return { change: JSON.parse(from.text()) as RecordChange }
  const isAtomic = kind === requestKinds.operations
  if (!isAtomic && kind !== requestKinds.eachOperation) throw new Error(`unknown request kind ${kind}`)
  const operations: Prepared[] = []
  for (let left = from.uint32(); left > 0; left--) operations.push(readOperation(from, frame))
  return { operations, isAtomic }
}

function readOperation(from: ByteReader, frame: Buffer): Prepared {
  const flags = from.byte()
  const kind = kinds[flags & kindBits]
  const path = from.text()
  const wantsVersion = (flags & asksVersion) !== 0
  if (kind === 'remove')
    return { kind, path, item: undefined, constraint: readConstraint(from, flags), wantsVersion } as Prepared
  const [start, end] = from.range()
  const item = { bytes: frame, start, end }
  const type = (flags & isString) === 0 ? 'json' : 'string'
  const properties = (flags & hasProperties) === 0 ? noProperties : (JSON.parse(from.text()) as Properties)
  const constraint = readConstraint(from, flags)
  if (kind === 'set' || kind === 'increment') return { kind, path, type, item, constraint, wantsVersion } as Prepared
  const removal = properties === noProperties ? undefined : removalOf(properties)
  return { kind, path, type, properties, removal, item, constraint, wantsVersion } as Prepared
}

function readConstraint(from: ByteReader, flags: number): WriteAction['constraint'] {
  if ((flags & hasConstraint) === 0) return undefined
  if ((flags & hasConstraintText) !== 0) return { kind: 'value', text: from.bytes() }
  return JSON.parse(from.text()) as WriteAction['constraint']
}

const failures = ['retry', 'unknown_outcome', 'full', 'unavailable'] as const

/** Outcomes of one operation by number. An increment has its own number, then the new value. A version precedes its outcome. */
const ofOne = [...effects, ...refusals]
const incremented = 15
const versioned = 14

/** Marks a notice; the numbers of outcomes start at 1. */
const noticeNumber = 0

export function writeNotice(out: ByteWriter, { before, version, total, keys }: LoggedRecord): void {
  out.double(noticeNumber)
  for (const position of [before, { version, total }]) {
    out.double(position.version)
    out.double(position.total)
  }
  out.raw(keys)
}

/**
 * Reads a notice; undefined if it contains no record. Its keys are a view into the frame.
 *
 * @returns `outcomes`, having read nothing, if the frame contains outcomes
 */
export function readNotice(from: ByteReader): LoggedRecord | 'outcomes' | undefined {
  if (!from.hasMore) return undefined
  if (from.peekDouble() !== noticeNumber) return 'outcomes'
  from.double()
  const before = { version: from.double(), total: from.double() }
  return { before, version: from.double(), total: from.double(), keys: from.rest() }
}

/** The kinds of outcomes. Lower numbers are the outcomes of a single operation. */
const outcomeKinds = { operations: 16, refused: 17, changed: 18, unchanged: 19, storeError: 20, error: 21 } as const

export function writeOutcome(out: ByteWriter, number: number, outcome: Outcome): void {
  out.double(number)
  if (typeof outcome === 'boolean') return out.byte(outcome ? outcomeKinds.changed : outcomeKinds.unchanged)
  if (outcome instanceof Error) return writeFailure(out, outcome)
  if ('refusal' in outcome) {
    out.byte(outcomeKinds.refused)
    out.uint32(outcome.index)
    return out.byte(refusals.indexOf(outcome.refusal))
  }
  const [first, second] = outcome
  if (first !== undefined && second === undefined) return writeOne(out, first)
  out.byte(outcomeKinds.operations)
  out.uint32(outcome.length)
  for (const each of outcome) writeOne(out, each)
}

function writeOne(out: ByteWriter, outcome: WriteOutcome | WriteRefusal): void {
  if (typeof outcome === 'string') return out.byte(ofOne.indexOf(outcome))
  if (isVersioned(outcome)) {
    out.byte(versioned)
    out.double(outcome.change.version)
    return writeOne(out, outcome.effect)
  }
  out.byte(incremented)
  out.text(outcome.valueText)
}

function writeFailure(out: ByteWriter, error: Error): void {
  if (error instanceof StoreError) {
    out.byte(outcomeKinds.storeError)
    out.byte(failures.indexOf(error.kind))
  } else out.byte(outcomeKinds.error)
  out.text(error.message)
}

export function readOutcome(from: ByteReader): { readonly number: number; readonly outcome: Outcome } {
  const number = from.double()
  return { number, outcome: readRest(from, from.byte()) }
}

function readRest(from: ByteReader, kind: number): Outcome {
  switch (kind) {
    case outcomeKinds.changed:
      return true
    case outcomeKinds.unchanged:
      return false
    case outcomeKinds.storeError:
      return new StoreError(member(failures, from.byte()), from.text())
    case outcomeKinds.error:
      return new Error(from.text())
    case outcomeKinds.refused:
      return { index: from.uint32(), refusal: member(refusals, from.byte()) }
    case outcomeKinds.operations:
      return Array.from({ length: from.uint32() }, () => readOne(from, from.byte()))
    default:
      return [readOne(from, kind)]
  }
}

function readOne(from: ByteReader, kind: number): WriteOutcome | WriteRefusal {
  if (kind !== versioned) return kind === incremented ? { valueText: from.text() } : member(ofOne, kind)
  const change = { version: from.double() }
  return { effect: readOne(from, from.byte()) as WriteEffect, change }
}

function member<T>(all: readonly T[], index: number): T {
  const found = all[index]
  if (found === undefined) throw new RangeError(`unknown outcome number ${index}`)
  return found
}
