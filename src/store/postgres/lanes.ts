/**
 * Which lane of the log a session appends to. Each session chooses one when it first changes topics: at random, of the
 * half that was appended to least recently, so that few sessions share one, although nobody keeps a list. A session that
 * lost a conflict in its lane chooses another. It may happen to choose the lane of a commit that waits for a standby: then
 * it waits too, and is refused when its time is over, with nothing changed.
 *
 * A process without a log first appends a row without keys to every lane: from there on, changes may be missing.
 */
import { lanesCount } from '../../limits.js'
import { type Session, stateOf } from './session.js'
import { clockVersion, inTime, laneTakenState, type Statement } from './statement.js'

const readIdleLanes: Statement<{ lane: string }> = {
  name: 'read_idle_lanes',
  text: `
    select l.lane from generate_series(0, ${lanesCount - 1}) as l (lane)
    order by (
      select c.version from topicd.changes c where c.lane = l.lane order by c.lane desc, c.n desc limit 1
    ) nulls first, l.lane
    limit ${lanesCount / 2}`,
}

/** A lane whose last row is such a row already needs no further one. */
export const breakLanes: Statement<never> = {
  name: 'break_lanes',
  text: `
    insert into topicd.changes (lane, n, version, count, total, keys)
    select l.lane, last.n + 1, greatest(last.version + 1, ${clockVersion}), 0, last.total, '{}'
    from generate_series(0, ${lanesCount - 1}) as l (lane)
    cross join lateral (
      select c.n, c.version, c.count, c.total from topicd.changes c
      where c.lane = l.lane order by c.lane desc, c.n desc limit 1
    ) last
    where (last.count > 0 or last.n = 0) and ${inTime(1)}`,
}

export class Lanes {
  readonly #lanes = new WeakMap<Session, number>()

  /** The lane of a session. @throws as `Session.execute` */
  async of(session: Session, answerMsMax: number): Promise<number> {
    const known = this.#lanes.get(session)
    if (known !== undefined) return known
    const rows = await session.execute(readIdleLanes, [], answerMsMax)
    const lane = Number(rows[Math.floor(Math.random() * rows.length)]?.lane ?? 0)
    this.#lanes.set(session, lane)
    return lane
  }

  /** Lets the session choose another lane, if the error says that its own was taken. */
  leaveAfter(error: unknown, session: Session): void {
    if (stateOf(error) === laneTakenState) this.#lanes.delete(session)
  }
}
