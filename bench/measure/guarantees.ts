/**
 * Probes which of topicd's guarantees each server keeps. The result shows where a server is faster because it guarantees less. Durability
 * cannot be probed here, so each server states it.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestText } from '../drivers/crowd.js'
import type { Exchange, Running, Server } from '../servers/server.js'
import type { Item, Operation } from '../workloads/operation.js'
import { Tree, valueBytesMin } from '../workloads/tree.js'
import { problemWith } from './check.js'
import { send } from './http.js'
import type { MeasureOptions } from './interleave.js'
import { openSandbox } from './sandbox.js'

/** One guarantee, in words and as a test. */
interface Probe {
  readonly words: string
  isKept(running: Running, smoke: boolean): Promise<boolean>
}

/** Clients that disconnect at the same time with requests in flight, followed by as many new ones. */
const disconnecting = 32

/** Time before the clients disconnect. */
const disconnectMs = 3

/** Requests that each client has sent by then. */
const requestsInFlight = 20

/** Number of repetitions: a server that mixes up responses does not do so every time. */
const disconnectRounds = 120
const disconnectRoundsSmoke = 3

const probes: readonly Probe[] = [
  {
    words: 'a value is returned exactly as sent, numbers included',
    isKept: async (running) => {
      const item = { path: 'probe/exact', value: '[12345678901234567890,1.10,-0]' }
      await problemWith(running, { kind: 'create', ...item })
      return isRight(running, { kind: 'fetch', path: item.path, values: [item.value] })
    },
  },
  {
    words: 'pages are in topic tree order, descendants before siblings',
    isKept: async (running) => {
      const items: Item[] = ['probe/order/a', 'probe/order/a/b', 'probe/order/a-b'].map((path) => ({
        path,
        value: '1',
      }))
      for (const item of items) await problemWith(running, { kind: 'create', ...item })
      const page = {
        kind: 'page',
        selector: { subtree: 'probe/order' },
        after: undefined,
        size: 10,
        items,
        hasMore: false,
      } as const
      return isRight(running, page)
    },
  },
  {
    words: 'invalid JSON is rejected',
    isKept: async (running) => {
      const exchange = running.exchange({ kind: 'create', path: 'probe/broken', value: '{"broken":' })
      if (exchange === undefined) return false
      return (await send(running.port, running.headers, exchange)).status === 400
    },
  },
  {
    words: 'a request without a key is rejected',
    isKept: async (running) => {
      const exchange = running.exchange({ kind: 'fetch', path: 'probe/exact', values: [] })
      if (exchange === undefined) return false
      return (await send(running.port, { 'content-type': 'application/json' }, exchange)).status === 401
    },
  },
  {
    words: 'a response goes to its own request, even when other clients disconnect',
    isKept: async (running, smoke) => {
      const item = { path: 'probe/own', value: '1' }
      await problemWith(running, { kind: 'create', ...item })
      const own: Operation = { kind: 'fetch', path: item.path, values: [item.value] }
      const exchange = running.exchange({ kind: 'overwrite', ...item })
      if (exchange === undefined) return false
      for (let i = 0; i < (smoke ? disconnectRoundsSmoke : disconnectRounds); i++) {
        const clients = Array.from({ length: disconnecting }, () => sendPipelined(running, exchange))
        await sleep(disconnectMs)
        for (const client of clients) client.destroy()
        const next = Array.from({ length: disconnecting }, () => isRight(running, own).catch(() => false))
        if ((await Promise.all(next)).includes(false)) return false
      }
      return true
    },
  },
  {
    words: 'selectors with patterns',
    isKept: async (running) => {
      const selector = { text: '?probe/o[a-z]+/a-b' }
      const items = [{ path: 'probe/order/a-b', value: '1' }]
      return isRight(running, { kind: 'page', selector, after: undefined, size: 10, items, hasMore: false })
    },
  },
]

/** A connection that sends the same request many times without waiting for a response. */
function sendPipelined(running: Running, exchange: Exchange): Socket {
  const socket = connect(running.port, '127.0.0.1')
  const request = requestText(running.port, running.headers, exchange)
  socket.on('error', () => undefined).write(request.repeat(requestsInFlight))
  return socket
}

/** Topics of the tree. The probes do not use the tree, but every sandbox has one. */
const smallestTree = 20

/** A row of the table: a guarantee, and whether each server keeps it. */
export interface GuaranteeRow {
  readonly words: string
  readonly kept: Readonly<Record<string, string>>
}

/**
 * Probes servers that store something.
 *
 * @param smoke whether to run the probes only briefly, to check that they still work
 */
export async function checkGuarantees(
  servers: readonly Server[],
  { workers, sandboxes }: MeasureOptions,
  smoke: boolean,
): Promise<GuaranteeRow[]> {
  const durability: Record<string, string> = {}
  const rows = probes.map((probe) => ({ probe, kept: {} as Record<string, string> }))
  for (const server of servers) {
    const tree = new Tree(smallestTree, valueBytesMin)
    const sandbox = await openSandbox(server, tree, { workers, responseBytes: 2 }, sandboxes)
    try {
      for (const { probe, kept } of rows) {
        kept[server.name] = (await probe.isKept(sandbox.running, smoke)) ? 'yes' : 'no'
      }
    } finally {
      await sandbox.close()
    }
    durability[server.name] = server.durability
  }
  return [
    { words: 'a write is on disk before its response', kept: durability },
    ...rows.map(({ probe, kept }) => ({ words: probe.words, kept })),
  ]
}

async function isRight(running: Running, operation: Operation): Promise<boolean> {
  return (await problemWith(running, operation)) === undefined
}
