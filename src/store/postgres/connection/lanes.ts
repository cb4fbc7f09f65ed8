/**
 * Which lane of the log a session appends to. Each session chooses one when it first changes topics: at random, of the
 * half that was appended to least recently, so that few sessions share one, although nobody keeps a list. A session that
 * lost a conflict in its lane chooses another. It may happen to choose the lane of a commit that waits for a standby: then
 * it waits too, and is refused when its time is over, with nothing changed.
 */
import { lanesCount } from '../../../settings/limits.js'
import { laneTakenState, type Statement } from '../sql/statement.js'
import { type Session, stateOf } from './session.js'

const readIdleLanes: Statement<{ lane: string }> = {
  name: 'read_idle_lanes',
  text: `
    select l.lane from generate_series(0, ${lanesCount - 1}) as l (lane)
    order by (
      select c.version from topicd.changes c where c.lane = l.lane order by c.lane desc, c.n desc limit 1
    ) nulls first, l.lane
    limit ${lanesCount / 2}`,
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
