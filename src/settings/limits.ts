/**
 * The fixed limits of the interface and limits that several files share, each with its unit in its name and its reason next
 * to it. A limit that only one file needs is in that file. A limit without a unit is a count; the `size` of a pattern is in
 * instructions. Adjustable limits are in table.ts. Nothing here reads argv or the environment.
 */
import { strict as assert } from 'node:assert'

const kibibyte = 1024

/** LMDB's longest key at its default page size of 4 KiB (`mdb_env_get_maxkeysize` as lmdb-js builds it). */
export const keyBytesMax = 1978

/** The longest path. The key of a path has as many bytes as its UTF-8 text, so a path may fill the key. */
export const pathBytesMax = keyBytesMax

/** The longest selector: room for a set of several paths of maximum length. Its cost has a separate limit. */
export const selectorBytesMax = 8 * kibibyte

assert(selectorBytesMax > 2 * pathBytesMax)

/** Nesting of groups in one pattern: deeper than anyone writes, and far from a stack overflow. */
export const groupDepthMax = 100

/** The highest count in `{n,m}`: the linear-time engine's own limit, which is RE2's. */
export const repeatMax = 1000

/**
 * The size of one pattern, in instructions: about one per character, times the repetitions. Plain text longer
 * than the longest path cannot match. Each instruction may cost a step for each character of each scanned topic.
 */
export const patternSizeMax = 2000

/** The total size of the patterns of one selector: plain text of any allowed length fits. */
export const selectorSizeMax = selectorBytesMax

/** The patterns of one selector that need an engine: each may run on every topic and keep an automaton. */
export const selectorEnginesMax = 32

/** The total size of the patterns that need an engine: room for one repetition of 1000 and a little more. */
export const enginesSizeMax = 1200

/**
 * The total size of the patterns that need the linear-time engine, which takes ten times as long as the built-in one. At this
 * size, the worst known pattern takes less than 50 ms for a path of maximum length; nothing else runs in the meantime.
 */
export const linearSizeMax = 600

/**
 * The work of planning all selectors of one request, in units of about 0.1 µs (selectors/planning-budget.ts). A worker does
 * nothing else in the meantime. A set of 750 subtrees, which fills a selector, takes a third of this limit; a batch of 1,000
 * topics whose REMOVAL clauses name a subtree each takes two thirds.
 */
export const planningUnitsMax = 250_000

/** The states that the linear-time engine keeps for one pattern; beyond this limit it drops them and starts over, more slowly. */
export const automatonBytesMax = 512 * kibibyte

assert(patternSizeMax >= pathBytesMax && selectorSizeMax >= selectorBytesMax)

/** Nesting of arrays and objects in a value: where parsers of common clients fail, far beyond any useful depth. */
export const valueLevelsMax = 1000

/** The names and values of a topic's properties together: they are settings, not data, and always read as a whole. */
export const propertiesBytesMax = 16 * kibibyte

/**
 * Properties of a topic: with this many, a megabyte of operations takes three times as long as a value of that size. With
 * more than 127, V8 finds each by hashing, which takes ten times as long.
 */
export const propertiesMax = 64

/** The longest REMOVAL expression: a selector of maximum length in its remove clause and ample room for the conditions. */
export const removalBytesMax = selectorBytesMax + kibibyte

/** Conditions in one REMOVAL expression: all of them are evaluated whenever the topic may be due. */
export const removalConditionsMax = 16

/** Nesting of parentheses in a REMOVAL expression: with that many conditions, deeper nesting is pointless. */
export const removalDepthMax = removalConditionsMax

/** Pairs of parentheses in a REMOVAL expression: one around each condition, and as many around groups of them. */
export const removalParenthesesMax = 2 * removalConditionsMax

/** The longest period in a REMOVAL expression, 100 years of 365 days. For "never", a client omits REMOVAL. */
export const removalPeriodMsMax = 36_500 * 24 * 60 * 60 * 1000

/**
 * The latest time that a REMOVAL expression can name, 9999-12-31T23:59:59.999Z: the last year of an RFC 1123 date, and
 * low enough to reject the current time if it is sent in microseconds by mistake.
 */
export const removalTimeMsMax = 253_402_300_799_999

assert(removalBytesMax < propertiesBytesMax)
// A due time is at most a time plus two periods: still an exact number of milliseconds.
assert(Number.isSafeInteger(removalTimeMsMax + 2 * removalPeriodMsMax))

/**
 * A commit that has not returned after this time never will, because the disk hangs. So a writer that is silent for this long
 * is killed. Also the deadline for a PostgreSQL statement.
 */
export const commitDeadlineMs = 10_000

/**
 * Maximum operations of one transaction; its last request may exceed the maximum. They take about 20 ms, during which the writer
 * does nothing else. Writes in one transaction share the pages that they copy: with batches of 1,000, a topic costs a
 * quarter less CPU than with a limit of 2,000, and waits less because the queue is shorter. On a slow disk the limit is
 * lower (base/paced-bound.ts).
 */
export const operationsInOneCommitMax = 8000

/** The largest depth and limit of branches: larger than any store, and 32 bits as in the types of api/bodies/bodies.ts. */
export const branchNumberMax = 2 ** 32 - 1

/** The highest rate of an API key, in requests per second: more than a host can serve. A key without a rate is unlimited. */
export const keyRateMax = 1_000_000

/** The latest expiry of an API key and of a replaced token: the end of the last year with four digits. */
export const keyExpiresMsMax = removalTimeMsMax

/**
 * API keys whose requests are counted by name, in each worker and in the metrics. All other keys are counted together because
 * each name is a time series in the monitoring system.
 */
export const keyNamesCountedMax = 100

/**
 * After this time without a connection, the writer forgets a worker or tool and the outcomes of its last requests: the process
 * exited or was replaced. So an older request has an unknown outcome.
 */
export const writerClientGoneMs = 30_000

/**
 * Changes that the log keeps: about 50 MB. At 1,000 changes per second, a client can be offline for a quarter of an hour
 * without starting over.
 */
export const changesKeptDefault = 1_000_000

export const changesSizeDefault = 100

/** Paths in one fetch: as many as the default maximum page size. */
export const fetchPathsMax = 1000

/** Results on a page if a fetch has no size (the specification's default). */
export const pageSizeDefault = 10

/** Origins in the setting: far more than the pages of one service have, in a line that is still readable. */
export const originsMax = 64

/**
 * Responses, or parts of them, that the clients of one worker have not read. Reads whose responses do not fit are rejected;
 * to make room for other responses, the connections whose clients have read nothing for the longest time are closed.
 */
export const answerBytesWaitingMax = 128 * 1024 * kibibyte

/** A page may take this fraction (1 / n) of the remaining room, so that pages get smaller before the room is used up. */
export const pagesInRoomLeft = 4

/** A larger page would not fit even if nothing were unread. */
export const pageBytesMaxMax = answerBytesWaitingMax / pagesInRoomLeft

/**
 * A response up to this size is sent even if there is no room: if the client reads, the kernel usually accepts all of it
 * immediately.
 */
export const answerBytesAlwaysMax = 256 * kibibyte

/** The longest line of an import: the largest value that any setting allows, and room for the other members. */
export const importLineBytesMax = 65 * 1024 * kibibyte

/**
 * The time for which a tool's output may go unread before its reader counts as hung: in the meantime, the snapshot of an export
 * prevents the store from reusing freed pages. Reading a few KB per second is enough.
 */
export const toolUnreadMsMax = 60_000
