/** Fills a follower from a shared stream. A follower that starts later, or falls behind, catches up by polling. */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { controllerWithin } from '../wait.js'
import type { Follower } from './follower.js'
import { PageStream, type Step } from './page-stream.js'
import type { Position, SharedStream, SharedStreams } from './shared-stream.js'

const joined = new Error('the follower has joined a shared stream')

/** A follower's position after the steps that it has taken. */
interface Progress {
  readonly since: string | undefined
  /** True if the follower has taken pages; if `since` is undefined, they are only part of the current state. */
  readonly isDirty: boolean
}

/** Runs until the follower's signal is aborted, or an error ends it. @param form the request without `selector` and `since` */
export async function fill(
  follower: Follower,
  streams: SharedStreams,
  form: ChangesBody,
  progress: () => Progress,
): Promise<void> {
  let stream: SharedStream | undefined
  follower.signal.addEventListener('abort', () => stream?.leave(follower))
  try {
    while (!follower.signal.aborted) {
      const { since, isDirty } = progress()
      if (since === undefined && isDirty) follower.put({ kind: 'restarted' })
      stream = streams.streamFor(follower, form, since)
      if (!stream.has(follower)) await catchUp(follower, stream, { ...form, since })
      await stream.left(follower)
      await follower.drained()
    }
  } catch (error) {
    follower.fail(error)
  }
}

/** Polls until the follower has caught up and joined, or the stream is closed. */
async function catchUp(follower: Follower, stream: SharedStream, { since, ...form }: ChangesBody): Promise<void> {
  const polling = controllerWithin(follower.signal)
  let position: Position | undefined
  const onStep = async (step: Step) => {
    follower.put(step)
    await follower.drained()
    if (polling.signal.aborted) return
    if (step.kind === 'page' && !step.has_more && position !== undefined) stream.join(follower, position)
    if (stream.has(follower) || stream.isClosed) polling.abort(joined)
  }
  const members = () => {
    position = stream.position
    return { ...form, selector: follower.selector }
  }
  const { connection } = stream
  const { signal } = polling
  try {
    await new PageStream({ connection, members, since, places: undefined, onStep, signal }).run()
  } catch (error) {
    if (error !== joined) throw error
  }
}
