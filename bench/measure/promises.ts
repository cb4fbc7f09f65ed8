/**
 * Which of topicd's promises each contender keeps: asked of it, not claimed for it. A contender that is faster because it
 * promises less should be seen to.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender, Exchange, Running } from '../contenders/contender.js'
import type { Item, Operation } from '../work/operation.js'
import { Tree, valueBytesMin } from '../work/tree.js'
import { problemWith } from './check.js'
import { house } from './home.js'
import { ask } from './http.js'
import type { Measuring } from './interleave.js'

interface Promised {
  readonly words: string
  kept(running: Running, smoke: boolean): Promise<boolean>
}

/** Clients that vanish together with requests outstanding, and then as many that ask in their place. */
const vanishing = 32
const vanishingMs = 3

/** Requests that each of them has sent by then. */
const requestsOutstanding = 20

/** How often they do: answers are mixed up by chance. */
const vanishingRounds = 120
const vanishingRoundsSmoke = 3

const probes: readonly Promised[] = [
  {
    words: 'a value comes back exactly as sent, numbers included',
    kept: async (running) => {
      const item = { path: 'probe/exact', value: '[12345678901234567890,1.10,-0]' }
      await problemWith(running, { kind: 'create', ...item })
      return isRight(running, { kind: 'fetch', path: item.path, values: [item.value] })
    },
  },
  {
    words: 'pages come in topic tree order, descendants before siblings',
    kept: async (running) => {
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
    words: 'what is not JSON is refused',
    kept: async (running) => {
      const exchange = running.exchange({ kind: 'create', path: 'probe/broken', value: '{"broken":' })
      if (exchange === undefined) return false
      return (await ask(running.port, running.headers, exchange)).status === 400
    },
  },
  {
    words: 'a request without a key is refused',
    kept: async (running) => {
      const exchange = running.exchange({ kind: 'fetch', path: 'probe/exact', values: [] })
      if (exchange === undefined) return false
      return (await ask(running.port, { 'content-type': 'application/json' }, exchange)).status === 401
    },
  },
  {
    words: 'an answer goes to its own request, even when other clients vanish',
    kept: async (running, smoke) => {
      const item = { path: 'probe/own', value: '1' }
      await problemWith(running, { kind: 'create', ...item })
      const own: Operation = { kind: 'fetch', path: item.path, values: [item.value] }
      const exchange = running.exchange({ kind: 'overwrite', ...item })
      if (exchange === undefined) return false
      for (let i = 0; i < (smoke ? vanishingRoundsSmoke : vanishingRounds); i++) {
        const clients = Array.from({ length: vanishing }, () => askManyTimes(running, exchange))
        await sleep(vanishingMs)
        for (const client of clients) client.destroy()
        const followed = Array.from({ length: vanishing }, () => isRight(running, own).catch(() => false))
        if ((await Promise.all(followed)).includes(false)) return false
      }
      return true
    },
  },
  {
    words: 'selectors with patterns',
    kept: async (running) => {
      const selector = { text: '?probe/o[a-z]+/a-b' }
      const items = [{ path: 'probe/order/a-b', value: '1' }]
      return isRight(running, { kind: 'page', selector, after: undefined, size: 10, items, hasMore: false })
    },
  },
]

/** A connection that asks the same many times without waiting for an answer. */
function askManyTimes(running: Running, exchange: Exchange): Socket {
  const { method, path, body } = exchange
  const headers = { host: 'localhost', ...running.headers, 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  const socket = connect(running.port, '127.0.0.1')
  socket.on('error', () => undefined).write(request.repeat(requestsOutstanding))
  return socket
}

/** Topics of a tree that is only there because every home has one. */
const smallestTree = 20

/** One line of the table: a promise, and for each contender whether it keeps it. */
export interface PromiseRow {
  readonly words: string
  readonly kept: Readonly<Record<string, string>>
}

/** Asks contenders that store something. @param smoke whether it only matters that the questions still work */
export async function promisesKept(
  contenders: readonly Contender[],
  { workers, homes }: Measuring,
  smoke: boolean,
): Promise<PromiseRow[]> {
  const kept = probes.map((): Record<string, string> => ({}))
  const durability: Record<string, string> = {}
  for (const contender of contenders) {
    const housed = await house(contender, new Tree(smallestTree, valueBytesMin), { workers, answerBytes: 2 }, homes)
    try {
      for (const [i, probe] of probes.entries()) {
        kept[i][contender.name] = (await probe.kept(housed.running, smoke)) ? 'yes' : 'no'
      }
    } finally {
      await housed.close()
    }
    durability[contender.name] = contender.durability
  }
  return [
    { words: 'a write is on disk when it is answered', kept: durability },
    ...probes.map(({ words }, i) => ({ words, kept: kept[i] })),
  ]
}

async function isRight(running: Running, operation: Operation): Promise<boolean> {
  return (await problemWith(running, operation)) === undefined
}
