/**
 * The seeded topic tree of every workload: the same paths and values in every run, in topic tree order.
 *
 *     a/x0000/hum/000 … a/x0000/hum/998, a/x0000/temp, a/x0001/hum/000 …
 *
 * A group has 1,000 topics (fewer in a small tree), and one of them is `temp`. The `temp` topics are a thousandth of the tree, so a scan
 * finds them quickly only if it skips the `hum` subtrees. Paths of one kind have the same length, and values have exactly the requested
 * length, so all responses of a workload have the same size.
 */
import { strict as assert } from 'node:assert'
import type { Item } from './operation.js'

const groupTopicsMax = 1000

/** Minimum number of groups, even in a small tree. */
const groupsMin = 10

/** The shortest value: `{"v":12345678,"k":1}`. */
export const valueBytesMin = 20

/** Bytes of the padding's syntax, without its letters: `,"pad":""`. */
const padBytes = 9

/** A tree of `topics` topics with values of `valueBytes` bytes. */
export class Tree {
  readonly topics: number
  readonly valueBytes: number
  readonly group: number

  constructor(topics: number, valueBytes: number) {
    this.group = Math.min(groupTopicsMax, Math.floor(topics / groupsMin))
    assert(
      this.group > 1 && topics % this.group === 0,
      `the number of topics must be a multiple of the group size ${this.group}, not ${topics}`,
    )
    assert(valueBytes === valueBytesMin || valueBytes >= valueBytesMin + padBytes, `no value has ${valueBytes} bytes`)
    this.topics = topics
    this.valueBytes = valueBytes
  }

  /** The path of the topic at `index` in topic tree order. */
  path(index: number): string {
    const member = index % this.group
    const parent = `a/x${String(Math.floor(index / this.group)).padStart(4, '0')}`
    return member === this.group - 1 ? `${parent}/temp` : `${parent}/hum/${String(member).padStart(3, '0')}`
  }

  /** The initial value of the topic at `index` or, with `variant` 1 to 9, a different value of the same length. */
  value(index: number, variant = 0): string {
    return valueText(index, variant, this.valueBytes)
  }

  item(index: number): Item {
    return { path: this.path(index), value: this.value(index) }
  }

  /** Up to `size` topics, starting at `index`. */
  items(index: number, size: number): Item[] {
    return Array.from({ length: Math.max(0, Math.min(size, this.topics - index)) }, (_, i) => this.item(index + i))
  }

  /** `count` different indices of `hum` topics in seeded random order, or all if the tree has fewer. */
  sample(count: number, seed: number): number[] {
    const random = seeded(seed)
    const chosen = new Set<number>()
    const wanted = Math.min(count, this.topics - this.topics / this.group)
    if (wanted > this.topics / 2) return shuffled(this.hums(), random).slice(0, wanted)
    while (chosen.size < wanted) {
      const index = Math.floor(random() * this.topics)
      if (index % this.group !== this.group - 1) chosen.add(index)
    }
    return [...chosen]
  }

  private hums(): number[] {
    return Array.from({ length: this.topics }, (_, i) => i).filter((i) => i % this.group !== this.group - 1)
  }
}

/** The largest round number of topics whose values take at most `bytes` bytes in total. */
export function topicsOfBytes(bytes: number, valueBytes: number): number {
  const topics = bytes / valueBytes
  const step = topics >= groupsMin * groupTopicsMax ? groupTopicsMax : groupsMin
  return Math.floor(topics / step) * step
}

/** A value of `bytes` bytes; the variants of an index differ. */
export function valueText(index: number, variant: number, bytes: number): string {
  const number = 10_000_000 + ((Math.imul(index + 1, 2_654_435_761) >>> 0) % 90_000_000)
  const start = `{"v":${number},"k":${variant}`
  if (bytes === valueBytesMin) return `${start}}`
  const offset = number % 1000
  return `${start},"pad":"${padding(offset + bytes).slice(offset, offset + bytes - valueBytesMin - padBytes)}"}`
}

let paddingText = ''

/** At least `length` letters of a fixed sequence. */
function padding(length: number): string {
  if (paddingText.length < length) {
    const random = seeded(7)
    const letters = Array.from({ length: 2 * length }, () => String.fromCharCode(97 + Math.floor(random() * 26)))
    paddingText = letters.join('')
  }
  return paddingText
}

/** Random numbers from 0 (inclusive) to 1 that depend on the seed only (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Shuffles in place (Fisher and Yates). */
function shuffled(numbers: number[], random: () => number): number[] {
  for (let i = numbers.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const [a, b] = [numbers[i], numbers[j]]
    if (a === undefined || b === undefined) throw new RangeError('the indices are within the array')
    numbers[i] = b
    numbers[j] = a
  }
  return numbers
}
