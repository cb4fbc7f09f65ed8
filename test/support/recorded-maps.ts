/** Maps of the product that a test cannot reach, to see that they are bounded. */
import type { Test } from 'tap'

/** The maps that get a key of this kind from now on, until the test ends. */
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
