/** Records the product's maps that a test cannot access, to check that they are bounded. */
import type { Test } from 'tap'

/** The maps that receive a key accepted by `isKey`, until the test ends. */
export function recordMaps(t: Test, isKey: (key: unknown) => boolean): ReadonlySet<ReadonlyMap<unknown, unknown>> {
  const { set } = Map.prototype
  const maps = new Set<Map<unknown, unknown>>()
  Map.prototype.set = function (key, value) {
    if (isKey(key)) maps.add(this)
    return set.call(this, key, value)
  }
  t.teardown(() => Object.assign(Map.prototype, { set }))
  return maps
}
