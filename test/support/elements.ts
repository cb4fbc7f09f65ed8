/** Access to elements that a test relies on: a missing element fails the test, with a message that names it. Also quantiles. */
import assert from 'node:assert/strict'

/** The first element of a list. */
export function first<Item>(list: readonly Item[]): Item {
  return at(list, 0)
}

/** The only element of a list. */
export function only<Item>(list: readonly Item[]): Item {
  assert.equal(list.length, 1, `expected one element, found ${list.length}`)
  return at(list, 0)
}

/** The element at an index, counted from the end if it is negative. */
export function at<Item>(list: readonly Item[], index: number): Item {
  const item = list.at(index)
  if (item === undefined) assert.fail(`no element ${index} among ${list.length}`)
  return item
}

/** The value, which must not be missing. */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) assert.fail('a value is missing')
  return value
}

/** The upper median of numbers, in any order. */
export function medianOf(numbers: readonly number[]): number {
  return at(
    [...numbers].sort((a, b) => a - b),
    numbers.length >> 1,
  )
}

/** The number below which this share of the numbers lies, such as 0.99. */
export function quantileOf(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return at(sorted, Math.min(sorted.length - 1, Math.floor(sorted.length * share)))
}

/** All items of an iterator. */
export async function everythingOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}
