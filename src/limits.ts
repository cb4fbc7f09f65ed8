/**
 * Every number that bounds something, with its unit in its name and its reason beside it. Settings have their defaults
 * and bounds here too. Nothing here reads argv or the environment (config.ts does).
 */
import { strict as assert } from 'node:assert'

const kibibyte = 1024


/** LMDB's longest key at its default page size of 4 KiB (`mdb_env_get_maxkeysize` as lmdb-js builds it). */
export const keyBytesMax = 1978

/** The longest path. The key of a path has as many bytes as its UTF-8 text, so the whole key is the path's. */
export const pathBytesMax = keyBytesMax

/** The longest selector: room for a set of several longest paths, and little enough to compile without a stall. */
export const selectorBytesMax = 8 * kibibyte

assert(selectorBytesMax > 2 * pathBytesMax)

/** A topic's properties, names and values together: settings, not data, and always read and compared whole. */
export const propertiesBytesMax = 16 * kibibyte

/** The longest REMOVAL expression: a longest selector in its remove clause, and ample room for the conditions. */
export const removalBytesMax = selectorBytesMax + kibibyte

/** Conditions in one REMOVAL expression: whenever the topic may be due, all of them are evaluated. */
export const removalConditionsMax = 16

/** Parentheses within parentheses in a REMOVAL expression: no deeper sense is left with that many conditions. */
export const removalDepthMax = removalConditionsMax

/** The longest period in a REMOVAL expression, a hundred years of 365 days: "never" is said by leaving REMOVAL out. */
export const removalPeriodMsMax = 36_500 * 24 * 60 * 60 * 1000

/**
 * The last point in time that a REMOVAL expression can name, 9999-12-31T23:59:59.999Z: the last year of an RFC 1123
 * date, and low enough to refuse a time of today that was sent in microseconds by mistake.
 */
export const removalTimeMsMax = 253_402_300_799_999

assert(removalBytesMax < propertiesBytesMax)
// A due time is at most a point in time and two periods: still an exact number of milliseconds.
assert(Number.isSafeInteger(removalTimeMsMax + 2 * removalPeriodMsMax))
