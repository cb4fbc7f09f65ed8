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

/** Groups within groups of one pattern: more than a person writes, and far from the end of the stack. */
export const groupDepthMax = 100

/** The highest count in `{n,m}`: the linear-time engine's own limit (RE2's), which it refuses to pass. */
export const repeatMax = 1000

/**
 * The size of one pattern, in instructions: about one a character, times the repetitions. A pattern with more characters
 * than the longest path has bytes matches nothing; and each may cost a step for each character of each topic scanned.
 */
export const patternSizeMax = 2000

/** The size of all the patterns of one selector: plain text of any allowed length always fits. */
export const selectorSizeMax = selectorBytesMax

/** The patterns of one selector that need an engine: each of them may be asked about each topic, and holds an automaton. */
export const selectorEnginesMax = 32

/**
 * Their size together: room for one repetition of a thousand and a little. At this size the worst pattern found takes
 * about a millisecond for a path of 40 characters, and well below 0.1 s for one of the longest.
 */
export const enginesSizeMax = 1200

/** The states that the linear-time engine may keep for one pattern; beyond it starts them anew, more slowly. */
export const automatonBytesMax = 512 * kibibyte

/** Fresh starts after which a pattern's automaton is given up: building its states costs more than doing without. */
export const automatonResetsMax = 8

/** Literal alternatives that are followed when a pattern bounds the scan: beyond them its common beginning has to do. */
export const prefixesMax = 64

/** Key ranges that one pattern is planned into: each is a seek, so many narrow ones cost more than a wide one. */
export const patternRangesMax = 64

/** Plans kept in each worker, in bytes as estimated with every automaton at its largest. */
export const planCacheBytesMax = 64 * 1024 * kibibyte

assert(patternSizeMax >= pathBytesMax && selectorSizeMax >= selectorBytesMax)
assert(selectorEnginesMax * automatonBytesMax < planCacheBytesMax)

/** Arrays and objects within each other in a value: where the parsers of common clients end, far beyond what means anything. */
export const valueLevelsMax = 1000

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

/**
 * Address space given to the LMDB map at once: the file grows into it as needed, and no process ever has to remap. Far
 * beyond any VM's disk, far within the 47 bits of a process.
 */
export const mapBytes = 2 ** 42

/** A commit that has not come back after this long never will: the disk hangs, or another process died with the lock. */
export const commitDeadlineMs = 10_000

/**
 * How often a write decides again when another write changed the topic in between. Each time one of the others succeeded,
 * so even hundreds of writers of one topic get through; what needs more is told to come back.
 */
export const conflictsMax = 64

/** Removals gathered into one transaction by a bulk removal: a few ms of the write lock, then others have a turn. */
export const removalsInOneCommitMax = 500

/** Results on a page when a fetch does not say (the specification's default). */
export const pageSizeDefault = 10

/** Of so many requests that are answered at once, one is timed: the clock is read twice for it, at 0.1 µs each. */
export const answersPerTiming = 16

/** Open connections of one worker: each costs a few KB, so this many stay within 200 MB; more are closed as they come. */
export const connectionsMax = 20_000

/** Descriptors that a worker needs for everything but connections: the store, the pipes, a listener, room for more. */
export const descriptorsReserved = 200

/** Requests of one worker that wait for their answer; beyond it more waiting helps nobody. */
export const requestsWaitingMax = 10_000

/** Bodies that one worker keeps: those that arrive in pieces, and those of requests that wait for their answer. */
export const bodyBytesWaitingMax = 64 * 1024 * kibibyte

/** Bodies up to this size are bounded by the number of requests alone, so that a few huge ones do not keep them out. */
export const bodyBytesSmallMax = 4 * kibibyte

/** Room for a body of which a piece has come: what a slow upload costs before it has sent more than a few bytes. */
export const bodyBytesKeptMin = 4 * kibibyte

/** What is let in of a body beyond the largest allowed, and dropped, before its client is told that it is too large. */
export const bodyBytesDroppedMax = 32 * 1024 * kibibyte

/** How long a connection that ends with its answer waits for the next piece of a body: a lost packet is sent again sooner. */
export const lingerSilenceMsMax = 1000

/** How long it waits altogether: a client that sends everything before it reads gets 12 MB through at 10 Mbit/s. */
export const lingerMsMax = 10_000

/** Answers up to this size may be left to the library without knowing whether the client reads them. */
export const answerBytesSmallMax = 2 * kibibyte

/** One in so many small answers finds out, at some cost, whether the client still reads. */
export const answersPerProbe = 8

/** Answers, or parts of them, that the clients of one worker have not read; beyond it the oldest of them are cut off. */
export const answerBytesWaitingMax = 128 * 1024 * kibibyte

/** Lines of an import whose writes are under way: enough to fill the commits. */
export const importLinesWaitingMax = 2000

/** Their bytes. */
export const importBytesWaitingMax = 32 * 1024 * kibibyte

/** The longest line of an import: the largest value that any setting allows, and room for the rest. */
export const importLineBytesMax = 65 * 1024 * kibibyte

/**
 * How long nothing of a tool's output may be taken: its reader hangs then, and meanwhile the snapshot of an export keeps the
 * store from using freed pages again. A reader needs a few KB a second to count as one.
 */
export const toolUnreadMsMax = 60_000

/** What all the scans that wait for their next slice may have found; beyond it their pages end early. */
export const scanBytesWaitingMax = 32 * 1024 * kibibyte

/** How long a request may wait for its answer: beyond what any client waits, short of forever. */
export const answerMsMax = 120_000
