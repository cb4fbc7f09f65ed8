/**
 * A tool's process beside the workers, as a program of its own that the primary forks: it opens the store as every member
 * does, holds its writes when told to, does its one piece of work over the connection that it is handed, and ends.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { exitCodes } from '../exit-codes.js'
import { createLog, logCrashes } from '../ops/log.js'
import { tools } from '../ops/tool.js'
import { isExclusive } from '../store/address.js'
import { openStore } from '../store/open.js'
import type { TopicStore } from '../store/store.js'
import { version } from '../version.js'
import type { FromChild, ToChild } from './messages.js'

/** The primary's last word: what to do, with the connection as the message's handle. */
interface ToolMessage {
  readonly kind: 'tool'
  readonly tool: string
  readonly options: unknown
}

logCrashes(createLog('tool'))

let store: TopicStore | undefined
let start: Extract<ToChild, { kind: 'start' }>
let ending = false

function tell(message: FromChild): void {
  process.send?.(message)
}

/** A store that can not be opened ends the process, which says so to whoever waits. */
async function open(): Promise<void> {
  store = await openStore(start.config.store, { directory: start.config.data })
  tell({ kind: 'opened' })
}

function end(code: number): void {
  ending = true
  process.exit(code)
}

async function work({ tool, options }: ToolMessage, socket: Socket): Promise<void> {
  socket.on('error', () => end(exitCodes.failed))
  // The end of what comes in is not the end of what goes out.
  socket.allowHalfOpen = true
  socket.write('{"ready":true}\n')
  const { store: address, data, diskFreeBytesMin } = start.config
  const directory = isExclusive(address) ? data : undefined
  async function emit(lines: string | Uint8Array): Promise<void> {
    socket.cork()
    socket.write(lines)
    const room = socket.write('\n')
    socket.uncork()
    if (!room) await once(socket, 'drain')
  }
  let last: object
  try {
    await tools[tool](store as TopicStore, options, { emit, input: socket.iterator({ destroyOnReturn: false }), directory, diskFreeBytesMin })
    last = { end: true }
  } catch (error) {
    last = { error: (error as Error).message }
  }
  socket.end(`${JSON.stringify(last)}\n`)
  // What is still sent has no reader any more; unread it would keep the connection from closing.
  socket.resume()
  await once(socket, 'close')
  await store?.close()
  end(exitCodes.done)
}

process.on('message', (message: ToChild | ToolMessage, handle: unknown) => {
  switch (message.kind) {
    case 'start':
      start = message
      return
    case 'open':
      return void open()
    case 'hold':
      return void store?.hold().then(() => tell({ kind: 'held' }))
    case 'release':
      return store?.release()
    case 'tool':
      return void work(message, handle as Socket)
  }
})

process.on('SIGTERM', () => end(exitCodes.failed))
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('exit', () => {
  if (!ending) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

tell({ kind: 'loaded', version })
