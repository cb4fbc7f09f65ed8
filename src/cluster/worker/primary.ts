/** A worker's requests to the primary for the console, over the control socket, like requests from the command line. */
import type { Primary } from '../../api/console/primary.js'
import { NothingDone } from '../../keys/requests.js'
import type { ControlRequest, ResponseLine, Responses } from '../control/messages.js'
import { MalformedRequest, parseResponse } from '../control/protocol.js'
import { connectToControl, exchange } from '../control/socket.js'

/** Further requests are rejected: the control socket allows 256 connections, and commands need some of them. */
const waitingMax = 4

/** @param data the data directory */
export function primaryOf(data: string): Primary {
  let waiting = 0

  async function ask<Command extends keyof Responses>(
    request: ControlRequest & { readonly command: Command },
  ): Promise<ResponseLine<Command>> {
    if (waiting >= waitingMax) throw new NothingDone('too many requests are waiting for the primary')
    waiting++
    try {
      const connection = await connectToControl(data).catch(() => undefined)
      if (connection === undefined) throw new NothingDone('the primary cannot be reached')
      return parseResponse<Command>(request.command, await exchange(connection, 'the primary', request))
    } catch (error) {
      if (!(error instanceof MalformedRequest)) throw error
      throw new NothingDone('the running service is an earlier version; restart it')
    } finally {
      waiting--
    }
  }

  return { keys: ask, overview: async () => (await ask({ command: 'overview' })).response }
}
