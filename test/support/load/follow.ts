/** A client that follows a service through its deaths, to wherever it is now. */
import { Client } from '../service/client.js'

/** Where the service is now. */
export interface Target {
  readonly url: string
  readonly token: string
}

export interface FollowOptions {
  /** Where the next request goes; undefined while there is no service. */
  readonly target: () => Target | undefined
  /** How many connections its client uses in turn. */
  readonly connections: number
  readonly isOver: () => boolean
}

const retryMs = 10

/** Repeats a step until it is over; one that returns false, because nothing was done, is followed by a short wait. */
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
