/**
 * Seeded random numbers for tests. Each test prints its seed; `SEED=<number>` in the environment replays it.
 */
import type { Test } from 'tap'

export interface Random {
  readonly seed: number
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number
  /** One of the items, which must not be empty. */
  pick<Item>(items: readonly Item[]): Item
  /** True once in `times`, on average. */
  oneIn(times: number): boolean
}

/** A generator that reports its seed as a comment of the test, so that a failure can be replayed. */
export function seededRandom(t: Pick<Test, 'comment'>): Random {
  const given = process.env.SEED
  const seed = given === undefined ? (Math.random() * 2 ** 32) >>> 0 : Number(given)
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32)
    throw new Error(`SEED=${given} is not a whole number below 2^32`)
  t.comment(`SEED=${seed}`)
  return randomFrom(seed)
}

/** The generator of a seed: splitmix32, which works with any seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  const below = (bound: number) => Math.floor((next() / 2 ** 32) * bound)
  return {
    seed,
    below,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    oneIn: (times) => below(times) === 0,
  }
}
