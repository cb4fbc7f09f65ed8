/**
 * A writer of an LMDB store, with its socket, in the test's own process: it can be replaced, or die, while links to it have requests in
 * flight. When the test ends, the store is checked.
 */
import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import type { Test } from 'tap'
import { connectToWriter, listenForWorkers } from '../../../dist/cluster/control/directory-sockets.js'
import { type LmdbOptions, type LmdbWriter, openLmdbStore, openLmdbWriter } from '../../../dist/store/lmdb/open.js'
import type { TopicStore } from '../../../dist/store/store.js'
import { WriterLink } from '../../../dist/store/writer/link.js'
import { findingsOf } from './store.js'

/** A running writer. */
interface Running {
  readonly writer: LmdbWriter
  readonly server: Server
  /** The writer's ends of the connections. */
  readonly sockets: Set<Socket>
}

export class WriterHost {
  readonly directory: string
  #options: Partial<LmdbOptions>
  #running: Running | undefined
  /** Operations executed by earlier writers. */
  #carriedOut = 0

  private constructor(directory: string, options: Partial<LmdbOptions>) {
    this.directory = directory
    this.#options = options
  }

  /** Opens a store in `directory` until the test ends. */
  static async open(t: Test, directory: string, options: Partial<LmdbOptions> = {}): Promise<WriterHost> {
    mkdirSync(directory, { recursive: true })
    const host = new WriterHost(directory, options)
    await host.start()
    t.teardown(() => host.#end())
    return host
  }

  get writer(): LmdbWriter {
    assert(this.#running !== undefined, 'there is a writer')
    return this.#running.writer
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  get store(): TopicStore {
    return this.writer.store
  }

  /** Operations executed by all writers so far, whether for other processes or their own. */
  get carriedOut(): number {
    return this.#carriedOut + (this.#running?.writer.store.commits?.writes ?? 0)
  }

  /** The writer's ends of its current connections. */
  get sockets(): ReadonlySet<Socket> {
    return this.#running?.sockets ?? new Set()
  }

  readonly connect = (): Socket => connectToWriter(this.directory)

  /** A process's end of a connection, closed when the test ends. */
  link(t: Test, connect: () => Socket = this.connect): WriterLink {
    const link = new WriterLink(connect, (reason) => t.fail(reason.message))
    t.teardown(() => link.close())
    return link
  }

  async start(options = this.#options): Promise<void> {
    assert(this.#running === undefined, 'there is no writer')
    this.#options = options
    const writer = openLmdbWriter({ directory: this.directory, ...options })
    const sockets = new Set<Socket>()
    const server = await listenForWorkers(this.directory, (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      writer.accept(socket)
    })
    this.#running = { writer, server, sockets }
  }

  /** Ends the writer as in a replacement: it completes all requests that it has received, and accepts no more. */
  async drain(): Promise<void> {
    const { writer, server, sockets } = this.#take()
    server.close()
    await writer.close()
    this.#carriedOut += writer.store.commits?.writes ?? 0
    for (const socket of sockets) socket.destroy()
  }

  /** Ends the writer as if its process had been killed: it neither commits nor responds any more. */
  async die(): Promise<void> {
    const { writer, server, sockets } = this.#take()
    writer.pauseWrites()
    server.close()
    const closed = [...sockets].map((socket) => once(socket, 'close'))
    for (const socket of sockets) socket.destroy()
    await Promise.all(closed)
    await writer.close()
    this.#carriedOut += writer.store.commits?.writes ?? 0
  }

  #take(): Running {
    const running = this.#running
    assert(running !== undefined, 'there is a writer')
    this.#running = undefined
    return running
  }

  async #end(): Promise<void> {
    if (this.#running !== undefined) await this.drain()
    const store = openLmdbStore({ directory: this.directory })
    const findings = await findingsOf(store)
    await store.close()
    assert.deepEqual(findings, [], 'broken data')
  }
}
