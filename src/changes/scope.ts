/** Scopes: the changes that a client requests and may see. Equal scopes share their results. */
import { createHash } from 'node:crypto'
import type { Slice } from '../base/time-slices.js'
import type { Plan } from '../selectors/plan.js'
import type { ItemForm } from '../store/topics.js'
import { keyTextOf, pathOfKeyText } from '../topics/key.js'
import type { Path } from '../topics/path.js'
import { walkIdBytes } from './token.js'

interface Wanted {
  /** Identifies the path or the selector. */
  readonly text: string
  /** Restricted to the subtrees that the caller may see. */
  readonly plan: Plan
  /** The subtrees that the caller may see; undefined for all. */
  readonly under: readonly Path[] | undefined
  readonly form: ItemForm
  /** Maximum results per page. */
  readonly size: number
}

export class Scope {
  /** Equal only for equal scopes. */
  readonly id: string
  /** Identifies the walked topics: a token from one walk is rejected for another. */
  readonly walkId: Buffer
  readonly plan: Plan
  readonly form: ItemForm
  readonly size: number
  /** Equal only for equal forms. */
  readonly formId: string
  /** The bounds of the plan's ranges, as key texts. */
  readonly ranges: readonly { readonly start: string; readonly end: string }[]

  constructor({ text, plan, under, form, size }: Wanted) {
    const { type, values, properties, versions } = form
    const walked = JSON.stringify([text, under, type])
    this.formId = JSON.stringify([type, values, properties, versions])
    this.id = JSON.stringify([walked, this.formId, size])
    this.walkId = createHash('sha256').update(walked).digest().subarray(0, walkIdBytes)
    this.plan = plan
    this.form = form
    this.size = size
    this.ranges = plan.ranges.map(({ start, end }) => ({ start: keyTextOf(start), end: keyTextOf(end) }))
  }

  /** Ignores the type of the topic. */
  has(key: string, slice: Slice): boolean {
    const { ranges } = this
    let low = 0
    for (let high = ranges.length; low < high; ) {
      const middle = (low + high) >> 1
      if (key < (ranges[middle]?.end ?? '')) high = middle
      else low = middle + 1
    }
    const range = ranges[low]
    if (range === undefined || key < range.start) return false
    const { matcher } = this.plan
    return matcher === undefined || matcher(pathOfKeyText(key), slice) === true
  }
}
