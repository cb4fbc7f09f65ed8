/** A client that follows a service through restarts, to its current address. */
import { Client } from '../service/client.js'

/** The service's current address. */
export interface Target {
  readonly url: string
  readonly token: string
}

export interface FollowOptions {
  /** The target of the next request; undefined while there is no service. */
  readonly target: () => Target | undefined
  /** Number of connections that the client uses in turn. */
  readonly connections: number
  readonly isOver: () => boolean
}

const retryMs = 10

/** Repeats a step until `isOver`; a step that returns false, because it did nothing, is followed by a short wait. */
export async function follow(
  { target, connections, isOver }: FollowOptions,
  step: (client: Client) => Promise<boolean>,
): Promise<void> {
  let client: Client | undefined
  let url = ''
  while (!isOver()) {
    const now = target()
    if (now !== undefined && url !== now.url) {
      client?.close()
      client = new Client(now.url, now.token, connections)
      url = now.url
    }
    if (now === undefined || client === undefined || !(await step(client)))
      await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
  client?.close()
}
