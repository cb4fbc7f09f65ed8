/**
 * The engine-side function that makes every commit: it takes the commit lock, checks that the premises of the decisions still hold,
 * makes the changes, and logs them. A migration creates it (schema.ts).
 *
 * The commit lock is a lock on the row `order` of `meta`, which is never updated. Each commit holds the lock until it ends, so
 * commits are totally ordered. A commit therefore sees all earlier ones, the log's rows become visible in the order of their versions,
 * and no two commits deadlock.
 */
import { versionsPerMs } from '../../../topics/version.js'
import { clockMs, lateState, type Statement, staleState } from '../sql/statement.js'

/** Maximum time that a commit waits for a row locked by another session, in ms: all other commits wait for this one. */
const rowLockMsMax = 500

/**
 * Arrays, by the kind of change: `u` sets the value, `d` removes, `c` creates, `k` changes nothing but must match the known state,
 * `r` changes the due time. A null generation means that there is no topic; a null version matches any version. A topic that
 * is replaced is in both `d` and `c`. `place` is the change's position within the commit, from 0.
 *
 * The versions of the changes follow the last one in the log, or the engine's clock if that is later.
 */
export const commitFunction = `
create or replace function topicd.commit(
  u_key bytea[], u_generation bigint[], u_version bigint[], u_item text[], u_place int[],
  d_key bytea[], d_generation bigint[], d_version bigint[],
  c_key bytea[], c_type smallint[], c_properties text[], c_item text[], c_due boolean[], c_place int[], c_generation bigint,
  k_key bytea[], k_generation bigint[], k_version bigint[],
  r_key bytea[], r_generation bigint[], r_due bigint[],
  changes int, keys bytea, begin_by bigint,
  out before_version bigint, out before_total bigint, out first_version bigint
) language plpgsql as $$
declare
  now_ms bigint;
  found int;
begin
  perform 1 from topicd.meta where name = 'order' for update;
  perform set_config('lock_timeout', '${rowLockMsMax}', true);
  now_ms := ${clockMs};
  if now_ms >= begin_by then
    raise exception 'the commit began too late' using errcode = '${lateState}';
  end if;
  select l.version, l.total into before_version, before_total from topicd.log l order by l.version desc limit 1;
  first_version := greatest(before_version + 1, now_ms * ${versionsPerMs});
  if cardinality(k_key) > 0 then
    select count(*) into found from unnest(k_key, k_generation, k_version) as v (key, generation, version)
    left join topicd.topics t on t.key = any(array[v.key])
    where t.generation is not distinct from v.generation and (v.version is null or t.version = v.version);
    if found <> cardinality(k_key) then raise exception 'stale' using errcode = '${staleState}'; end if;
  end if;
  if cardinality(u_key) > 0 then
    update topicd.topics t set item = v.item, updated = now_ms, version = first_version + v.place
    from unnest(u_key, u_generation, u_version, u_item, u_place) as v (key, generation, version, item, place)
    where t.key = any(array[v.key]) and t.generation = v.generation and (v.version is null or t.version = v.version);
    get diagnostics found = row_count;
    if found <> cardinality(u_key) then raise exception 'stale' using errcode = '${staleState}'; end if;
  end if;
  if cardinality(d_key) > 0 then
    delete from topicd.topics t using unnest(d_key, d_generation, d_version) as v (key, generation, version)
    where t.key = any(array[v.key]) and t.generation = v.generation and (v.version is null or t.version = v.version);
    get diagnostics found = row_count;
    if found <> cardinality(d_key) then raise exception 'stale' using errcode = '${staleState}'; end if;
  end if;
  if cardinality(c_key) > 0 then
    insert into topicd.topics (key, type, properties, item, generation, created, updated, due, version)
    select v.key, v.type, v.properties, v.item, c_generation, now_ms, now_ms, case when v.due then now_ms end,
      first_version + v.place
    from unnest(c_key, c_type, c_properties, c_item, c_due, c_place) as v (key, type, properties, item, due, place)
    on conflict (key) do nothing;
    get diagnostics found = row_count;
    if found <> cardinality(c_key) then raise exception 'stale' using errcode = '${staleState}'; end if;
  end if;
  if cardinality(r_key) > 0 then
    update topicd.topics t set due = v.due
    from unnest(r_key, r_generation, r_due) as v (key, generation, due)
    where t.key = any(array[v.key]) and t.generation = v.generation;
  end if;
  if changes > 0 then
    insert into topicd.log (version, total, keys) values (first_version + changes - 1, before_total + changes, keys);
  end if;
end $$`

/** The end of the log before a commit, and the version of the commit's first change. */
export interface CommitRow {
  readonly before_version: string
  readonly before_total: string
  readonly first_version: string
}

/** `CommitChanges` (changes.ts) provides its parameters; the time by which it must start is appended. */
export const callCommit: Statement<CommitRow> = {
  name: 'commit_changes',
  text: `select * from topicd.commit(${Array.from({ length: 24 }, (_, i) => `$${i + 1}`).join(', ')})`,
}
