/**
 * Faults that somebody could make in this program, each as a change of one place in a built file, and the test that
 * finds it. The table in docs/verification.md lists them.
 */
export interface Mutant {
  /** What is wrong then, in the words of the table. */
  readonly fault: string
  /** A built file, relative to `dist`. */
  readonly file: string
  /** A text that occurs in it once, and what stands there instead. */
  readonly from: string
  readonly to: string
  /** The test that fails. */
  readonly test: string
  /** In the name of an assertion that fails then: it is about what is wrong. */
  readonly finds: RegExp
}

export const mutants: readonly Mutant[] = [
  {
    fault: 'a write is acknowledged before its commit',
    // Of topics only: the workers would look for a new API key before it is there, and no test could begin.
    file: 'store/lmdb/write/desk.js',
    from: 'receipts.add(receipt, number, resultOf(() => work(changes)));',
    to: "receipts.add(receipt, number, resultOf(() => work(changes))); if ('operations' in request) this.answerAll();",
    test: 'durability/durable.long',
    finds: /it was answered only after it was on disk|before it was on disk/,
  },
  {
    fault: 'the outcomes of requests are not stored with what they did',
    file: 'store/lmdb/write/receipts.js',
    from: 'this.table.putSync(receipt.name, receipt.record());',
    to: ';',
    test: 'durability/commit-failure.long',
    finds: /the next writer knows from the receipt/,
  },
  {
    fault: 'commits do not wait for the disk',
    file: 'store/lmdb/environment/environment.js',
    from: '        noSync,',
    to: '        noSync: true,',
    test: 'durability/durable.long',
    finds: /it was answered only after it was on disk|before it was on disk/,
  },
  {
    fault: 'a store is opened while others write',
    file: 'cluster/primary/store-opening.js',
    from: "if (writer !== undefined && writer.state !== 'ended') {",
    to: 'if (false) {',
    test: 'durability/replacement.long',
    finds: /no other process committed during any of them/,
  },
  {
    fault: 'readers that died are never cleared',
    file: 'store/lmdb/file/dead-readers.js',
    from: 'root.readerCheck()',
    to: 'undefined',
    test: 'store/dead-readers.long',
    finds: /everything is overwritten ten times in a row without growth/,
  },
  {
    fault: 'a worker reads from an old snapshot',
    file: 'store/lmdb/read/read-freshness.js',
    from: 'if (isShared && socketCount() <= socketsInOnePollMax)\n                return;\n            freshen();',
    to: 'if (isShared)\n                return;\n            if (Math.random() < 0.5) freshen();',
    test: 'durability/read-your-writes.long',
    finds: /writes, each followed by a fetch over another connection/,
  },
  {
    fault: 'a page ends at its size without `has_more`',
    file: 'store/lmdb/read/page-scan.js',
    from: 'count > size || ',
    to: 'count > size + 1 || ',
    test: 'store/contract',
    finds: /the same answers to \d+ operations/,
  },
  {
    fault: 'a page that is full by its bytes says that there is no more',
    file: 'store/lmdb/read/page-scan.js',
    from: 'buffer.finish(true)',
    to: 'buffer.finish(count > size)',
    test: 'store/contract',
    finds: /fit exactly/,
  },
  {
    fault: 'a page begins with the topic after which it should begin',
    file: 'topics/range.js',
    from: 'keyAfter(encodeKey(after))',
    to: 'encodeKey(after)',
    test: 'store/contract',
    finds: /the same answers to \d+ operations/,
  },
  {
    fault: 'a subtree begins after its own topic',
    file: 'topics/range.js',
    from: 'return { start, end: keyAfterSubtree(start) };',
    to: 'return { start: keyAfter(start), end: keyAfterSubtree(start) };',
    test: 'selectors/plan',
    finds: /\*a\/b\/\//,
  },
  {
    fault: 'the last operation of a batch is lost',
    file: 'store/lmdb/write/topic-changes.js',
    from: 'for (const change of decisions.changes())',
    to: 'for (const change of [...decisions.changes()].slice(0, -1))',
    test: 'store/batches',
    finds: /round \d+/,
  },
  {
    fault: 'the log misses topics that were due',
    file: 'store/lmdb/write/topic-changes.js',
    from: 'this.log.add(path, this.now().wallMs);\n    }\n    /** Runs',
    to: '}\n    /** Runs',
    test: 'store/change-log',
    finds: /each once; that of the clause stays/,
  },
  {
    fault: 'the log is written outside the transaction, after it',
    file: 'store/lmdb/write/writes.js',
    from: 'record = log.put();',
    to: 'record = { after: {}, position: {}, value: Buffer.alloc(0) }; setTimeout(() => log.put(), 20);',
    test: 'store/change-log',
    finds: /neither what was refused nor what changed nothing is named/,
  },
  {
    fault: 'the log is trimmed though what is left is too little',
    file: 'store/lmdb/write/change-log.js',
    from: 'logPositionOf(oldest).total < this.keptMin',
    to: 'logPositionOf(oldest).total < this.keptMin / 2',
    test: 'store/change-log',
    finds: /as few whole commits/,
  },
  {
    fault: 'a commit that concerns nobody is passed, with what came before it and was not told of',
    file: 'changes/feed.js',
    from: 'if (!this.#place.equals(from))',
    to: 'if (false)',
    test: 'changes/feed',
    finds: /it never happened that/,
  },
  {
    fault: 'the log is trimmed, and a token from before that is accepted',
    file: 'store/lmdb/read/log-snapshot.js',
    from: 'if (position.total - countOf(value) !== place.total)',
    to: 'if (position.total - countOf(value) < place.total)',
    test: 'changes/forgotten',
    finds: /too old a token is refused/,
  },
  {
    fault: 'the token of the first page is taken after the page was read',
    file: 'changes/pages.js',
    from: 'return whenKnown(readEnd(store), (place) => whenKnown(readWalk(store, scope, undefined, bounds), (page) => {',
    to: 'return whenKnown(readWalk(store, scope, undefined, bounds), (page) => whenKnown(readEnd(store), (place) => {',
    test: 'changes/feed',
    finds: /a change during the walk is shown/,
  },
  {
    fault: 'a stream counts as up to date although something changed while it read',
    file: 'changes/streams.js',
    from: 'if (hasMore || (',
    to: 'if (hasMore || false && (',
    test: 'changes/feed',
    finds: /nothing between the reading and the feed is lost/,
  },
  {
    fault: 'a revoked key keeps its streams',
    file: 'auth/keyring.js',
    from: 'this.#callers.clear();\n        this.#onChange();',
    to: 'this.#callers.clear();',
    test: 'api/streams',
    finds: /its stream ends/,
  },
  {
    fault: 'the constraint `no_topic` holds for a topic',
    file: 'topics/constraint.js',
    from: 'return topic === undefined;',
    to: 'return true;',
    test: 'api/constraint',
    finds: /no_topic set/,
  },
  {
    fault: 'a constraint on a version holds for a topic that the same batch has changed',
    file: 'store/shared/batch.js',
    from: 'hasVersion: () => false',
    to: 'hasVersion: () => true',
    test: 'api/constraint',
    finds: /changed by the same batch/,
  },
  {
    fault: 'a constraint holds for a topic whose value only begins like it',
    file: 'json/tokens.js',
    from: 'if (byte === undefined)\n            return true;',
    to: 'if (byte === undefined || i > 40)\n            return true;',
    test: 'topics/constraint',
    finds: /byte \d+ changed/,
  },
  {
    fault: 'topics sort by their characters, not as a tree',
    file: 'topics/key.js',
    from: 'target[position + i] = code === slash ? separator : code;',
    to: 'target[position + i] = code;',
    test: 'topics/key-order',
    finds: /at \d+/,
  },
  {
    fault: 'two topics share an entry of what is due',
    file: 'store/lmdb/environment/environment.js',
    from: 'const number = (meta.get(dueNumberName)?.readDoubleBE() ?? takeBlock(meta)) + 1;',
    to: 'const number = 1;',
    test: 'store/due-numbers',
    finds: /the store is sound/,
  },
  {
    fault: 'a topic is removed although it was updated lately',
    file: 'store/lmdb/removal/due-entries.js',
    from: 'storedDueMs(policy, createdMs, updatedMs)',
    to: 'storedDueMs(policy, createdMs, createdMs)',
    test: 'store/removal-clock.long',
    finds: /what was updated lately stays/,
  },
  {
    fault: 'a revoked key is accepted until the next restart',
    file: 'auth/keyring.js',
    from: 'this.#callers.clear();\n        this.#onChange();',
    to: 'this.#onChange();',
    test: 'auth/keys-command.long',
    finds: /every worker refuses/,
  },
  {
    fault: 'a key for `a` may touch `ab`',
    file: 'keys/rights.js',
    from: 'under.some((subtree) => isWithin(path, subtree))',
    to: 'under.some((subtree) => path.startsWith(subtree))',
    test: 'auth/permissions',
    finds: /fetch a\/b-c/,
  },
  {
    fault: 'each worker allows the whole rate of a key',
    file: 'auth/rate-limit.js',
    from: 'this.#cost = 1000 * sharers;',
    to: 'this.#cost = 1000;',
    test: 'auth/rate-limit',
    finds: /in 60 s at/,
  },
  {
    fault: 'a body in chunks is read although something else encodes it, too',
    file: 'http/headers.js',
    from: 'const chunked = /^chunked$/i;',
    to: 'const chunked = /chunked$/i;',
    test: 'http/framing',
    finds: /an encoding before chunks: answered 400/,
  },
  {
    fault: 'a body in pieces loses what came before its buffer grew',
    file: 'http/body.js',
    from: 'buffer.set(kept.subarray(0, keptBytes));',
    to: 'buffer.set(kept.subarray(1, keptBytes));',
    test: 'http/body',
    finds: /pieces are copied, and appended in order/,
  },
  {
    fault: 'an import loses a last line without a line end',
    file: 'tools/lines.js',
    from: 'lines.end();',
    to: 'return;',
    test: 'operate/export-import.long',
    finds: /without the last line end/,
  },
  {
    fault: 'a series of backups deletes one too many',
    file: 'commands/store/backup-series.js',
    from: 'earlier.length - (keep - 1)',
    to: 'earlier.length - (keep - 2)',
    test: 'operate/backup-into.long',
    finds: /the oldest backups are deleted, and nothing else/,
  },
  {
    fault: 'a worker that hangs counts as ready',
    file: 'cluster/primary/readiness.js',
    from: 'performance.now() - heardMs >= heartbeatMsMax',
    to: 'performance.now() - heardMs >= 1000 * heartbeatMsMax',
    test: 'operate/systemd-notify.long',
    finds: /no ping is sent while a worker hangs/,
  },
  {
    fault: 'writes are accepted on a disk that is nearly full',
    file: 'store/lmdb/write/disk-room.js',
    from: 'if (needed > usable ||',
    to: 'if (needed < 0 ||',
    test: 'store/disk-room',
    finds: /not even alone/,
  },
  {
    fault: 'on PostgreSQL, a batch is not in the log',
    file: 'store/postgres/write/batches.js',
    from: 'await log(',
    to: 'void (',
    test: 'postgres/change-log',
    finds: /a batch/,
  },
  {
    fault: 'on PostgreSQL, the log loses more than it should',
    file: 'store/postgres/write/log-trimming.js',
    from: 'where before < $1::bigint',
    to: 'where $1::bigint > 0',
    test: 'postgres/change-log-trimming',
    finds: /are kept/,
  },
]

/** The text of the mutant's file, with its fault. @throws when the place is not there exactly once */
export function withFault({ file, from, to }: Mutant, text: string): string {
  const count = text.split(from).length - 1
  if (count !== 1) throw new Error(`${file} has ${count} times: ${from}`)
  return text.replace(from, () => to)
}
