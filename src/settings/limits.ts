/**
 * The fixed limits of the interface, and those that several files or readers share, each with its unit in its name and
 * its reason beside it; one that a single file needs is in that file. A limit without a unit is a count; a `size` of a
 * pattern is in instructions. Adjustable limits are in table.ts. Nothing here reads argv or the environment.
 */
import { strict as assert } from 'node:assert'

const kibibyte = 1024

/** LMDB's longest key at its default page size of 4 KiB (`mdb_env_get_maxkeysize` as lmdb-js builds it). */
export const keyBytesMax = 1978

/** The longest path. The key of a path has as many bytes as its UTF-8 text, so a path may use all of the key. */
export const pathBytesMax = keyBytesMax

/** The longest selector: room for a set of several longest paths. What it may cost has a limit of its own. */
export const selectorBytesMax = 8 * kibibyte

assert(selectorBytesMax > 2 * pathBytesMax)

/** Nesting of groups in one pattern: more than anyone writes, and far from a stack overflow. */
export const groupDepthMax = 100

/** The highest count in `{n,m}`: the linear-time engine's own limit, which is RE2's. */
export const repeatMax = 1000

/**
 * The size of one pattern, in instructions: about one per character, times the repetitions. A pattern with more
 * characters than the longest path has bytes matches nothing. Each instruction may cost a step for each character of
 * each topic scanned.
 */
export const patternSizeMax = 2000

/** The size of all the patterns of one selector: plain text of any allowed length always fits. */
export const selectorSizeMax = selectorBytesMax

/** The patterns of one selector that need an engine: each may run on every topic, and each has an automaton. */
export const selectorEnginesMax = 32

/** The total size of those patterns: room for one repetition of 1000 and a little more. */
export const enginesSizeMax = 1200

/**
 * The total size of those that need the linear-time engine, which takes ten times as long. At this size, the worst
 * pattern found takes less than 50 ms for a longest path, and nothing else runs before it has decided about that path.
 */
export const linearSizeMax = 600

/**
 * The work of planning all the selectors of one request, in units of about 0.1 µs (selectors/planning-budget.ts): it is
 * one piece, during which a worker does nothing else. A set of 750 subtrees, which fills a selector, takes a third of
 * it, and a batch of 1,000 topics whose REMOVAL clauses name a subtree each two thirds.
 */
export const planningUnitsMax = 250_000

/** States that the linear-time engine keeps for one pattern; beyond that it drops them and starts over, more slowly. */
export const automatonBytesMax = 512 * kibibyte

assert(patternSizeMax >= pathBytesMax && selectorSizeMax >= selectorBytesMax)

/** Nesting of arrays and objects in a value: parsers of common clients give up here, far beyond any useful depth. */
export const valueLevelsMax = 1000

/** A topic's properties, names and values together: settings, not data, always read and compared as a whole. */
export const propertiesBytesMax = 16 * kibibyte

/**
 * Properties of a topic: with them, a megabyte of operations takes three times as long as a value of that size. Among more
 * than 127, V8 finds each by hashing, which takes ten times as long.
 */
export const propertiesMax = 64

/** The longest REMOVAL expression: a longest selector in its remove clause and ample room for the conditions. */
export const removalBytesMax = selectorBytesMax + kibibyte

/** Conditions in one REMOVAL expression: all of them are evaluated whenever the topic may be due. */
export const removalConditionsMax = 16

/** Nesting of parentheses in a REMOVAL expression: with that many conditions, deeper nesting has no meaning. */
export const removalDepthMax = removalConditionsMax

/** Pairs of parentheses in a REMOVAL expression: one around each condition, and as many around groups of them. */
export const removalParenthesesMax = 2 * removalConditionsMax

/** The longest period in a REMOVAL expression, 100 years of 365 days. To say "never", a client leaves REMOVAL out. */
export const removalPeriodMsMax = 36_500 * 24 * 60 * 60 * 1000

/**
 * The latest time that a REMOVAL expression can name, 9999-12-31T23:59:59.999Z: the last year of an RFC 1123 date, and
 * low enough to refuse a present time that was sent in microseconds by mistake.
 */
export const removalTimeMsMax = 253_402_300_799_999

assert(removalBytesMax < propertiesBytesMax)
// A due time is at most a time plus two periods: still an exact number of milliseconds.
assert(Number.isSafeInteger(removalTimeMsMax + 2 * removalPeriodMsMax))

/**
 * A commit that has not returned after this long never will: the disk hangs. So a writer that is silent for so long is
 * killed. Also the deadline of a PostgreSQL statement.
 */
export const commitDeadlineMs = 10_000

/**
 * Operations that one transaction carries out, exceeded by at most one request: it takes some 20 ms, during which the
 * writer does nothing else. Writes that share a transaction share the pages that they copy: in batches of 1,000, a topic
 * costs a quarter less CPU than with 2,000 here, and waits less, since the queue is shorter. On a slow disk it carries out
 * fewer (base/paced-bound.ts).
 */
export const operationsInOneCommitMax = 8000

/** The largest depth and limit of branches: beyond every store, and 32 bits as in the types of api/bodies/bodies.ts. */
export const branchNumberMax = 2 ** 32 - 1

/** The highest rate of an API key, in requests a second: more than a host can answer. To allow any, it is left out. */
export const keyRateMax = 1_000_000

/** The latest expiry of an API key, and of a token that was replaced: the last time of a year with four digits. */
export const keyExpiresMsMax = removalTimeMsMax

/**
 * API keys whose requests are counted by name, in each worker and in the metrics. The requests of all others are counted
 * together: each name is a time series of the monitoring system.
 */
export const keyNamesCountedMax = 100

/**
 * The writer forgets a worker, or a tool, that has not been connected for so long, and with it the outcomes of its last
 * requests: it ended, or was replaced. So a request that is older has an unknown outcome.
 */
export const writerClientGoneMs = 30_000

/**
 * Changes that the log keeps: some 50 MB, and at 1,000 changes a second a quarter of an hour, in which a client can be
 * away without starting over.
 */
export const changesKeptDefault = 1_000_000

export const changesSizeDefault = 100

/** Paths in one fetch: as many as a page has results by default at most. */
export const fetchPathsMax = 1000

/** Results on a page when a fetch gives no size (the specification's default). */
export const pageSizeDefault = 10

/** Origins in the setting: far more than one service's pages have, and a line that can still be read. */
export const originsMax = 64

/**
 * Answers, or parts of them, that the clients of one worker have not read. Fetches whose answers do not fit are refused;
 * for other answers, the connections whose clients have read nothing for longest are closed.
 */
export const answerBytesWaitingMax = 128 * 1024 * kibibyte

/** A page takes at most one part in this many of the room left, so that pages get smaller before there is none. */
export const pagesInRoomLeft = 4

/** A larger page would not fit even while nothing is unread. */
export const pageBytesMaxMax = answerBytesWaitingMax / pagesInRoomLeft

/**
 * Answers up to this size are sent even if there is no room: if the client reads, the kernel usually accepts all of one
 * immediately.
 */
export const answerBytesAlwaysMax = 256 * kibibyte

/** The longest line of an import: the largest value that any setting allows, and room for the other members. */
export const importLineBytesMax = 65 * 1024 * kibibyte

/**
 * How long a tool's output may go unread before its reader counts as hanging: meanwhile, the snapshot of an export
 * keeps the store from reusing freed pages. Reading a few KB per second is enough.
 */
export const toolUnreadMsMax = 60_000
