/**
 * Seeded random numbers for tests. The seed is printed once a process; `SEED=<number>` in the environment brings a run back.
 */
import type { Test } from 'tap'

export interface Random {
  readonly seed: number
  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number
  /** One of the items; there must be one. */
  pick<Item>(items: readonly Item[]): Item
  /** True once in `times`, on average. */
  oneIn(times: number): boolean
}

/** A generator that reports its seed as a comment of the test, so that a failure can be replayed. */
export function seededRandom(t: Pick<Test, 'comment'>): Random {
  const asked = process.env.SEED
  const seed = asked === undefined ? (Math.random() * 2 ** 32) >>> 0 : Number(asked)
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32)
    throw new Error(`SEED=${asked} is not a whole number below 2^32`)
  t.comment(`SEED=${seed}`)
  return randomFrom(seed)
}

/** The generator of a seed: splitmix32, whose every seed is a good one. */
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
