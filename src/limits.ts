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
