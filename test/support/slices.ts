/** A slice that is never over, for tests that call a matcher directly. */
import type { Slice } from '../../dist/base/time-slices.js'

export const endlessSlice: Slice = { isOver: () => false }
