/** A slice that is never over, for tests that call a matcher by themselves. */
import type { Slice } from '../../dist/base/time-slices.js'

export const endlessSlice: Slice = { isOver: () => false }
