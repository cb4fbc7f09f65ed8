/**
 * Readers of changes: pages as docs/changes.md describes them, individually or from a stream, and the state that a client derives from
 * them. They never retry, so that a lost response is noticed.
 */
import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { request as requestOverTls } from 'node:https'
import type { Client } from './client.js'
import { until } from './server.js'

/** Time limit for the end of a stream, in ms, on a busy machine. */
const endMsMax = 30_000

/** A result: an item, or a topic that does not exist. */
export interface ChangedItem {
  readonly path: string
  readonly removed?: true
  readonly type?: string
  readonly value?: unknown
  readonly version?: number
}

export interface ChangesPage {
  readonly has_more: boolean
  readonly results: readonly ChangedItem[]
  readonly next: string
}

/** An event of a stream. */
interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** The state of a client after several pages: the items by path. */
export class Fold {
  readonly topics = new Map<string, ChangedItem>()
  /** Whether the state is a snapshot. */
  isComplete = false
  next: string | undefined

  take({ results, has_more: hasMore, next }: ChangesPage): void {
    for (const item of results) {
      if (item.removed === true) this.topics.delete(item.path)
      else this.topics.set(item.path, item)
    }
    this.isComplete = !hasMore
    this.next = next
  }
}

/** Posts a request for a page, which must succeed. */
export async function changesPage(client: Pick<Client, 'post'>, body: object, token?: string): Promise<ChangesPage> {
  const answer = await client.post('changes', body, token === undefined ? {} : { token })
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text) as ChangesPage
}

/** Reads all further pages from the fold's position. */
export async function catchUp(client: Pick<Client, 'post'>, body: object, fold = new Fold()): Promise<Fold> {
  do fold.take(await changesPage(client, { ...body, since: fold.next }))
  while (!fold.isComplete)
  return fold
}

/** The request that opens a stream, without its body. */
interface StreamRequest {
  readonly url: string
  readonly token: string
  readonly lastEventId?: string
  /** An agent with connections to a proxy; by default the stream has its own connection. */
  readonly agent?: Agent
}

/** A stream of changes, as a browser's EventSource reads it. */
export class ChangesStream {
  readonly events: StreamEvent[] = []
  /** The service's requested delay before the next connection, in ms. */
  retryMs: number | undefined
  readonly fold = new Fold()
  isEnded = false
  #text = ''

  private constructor(
    private readonly outgoing: ClientRequest,
    readonly response: IncomingMessage,
  ) {
    response.setEncoding('utf8').on('data', (text: string) => this.#add(text))
    response.on('error', () => {}).on('close', () => (this.isEnded = true))
  }

  /** Opens a stream; resolves when the response's head has arrived. */
  static async open({ url, token, lastEventId, agent }: StreamRequest, body: object): Promise<ChangesStream> {
    const headers = {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'gzip, br',
      authorization: `Apikey ${token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    }
    const send = url.startsWith('https:') ? requestOverTls : request
    const outgoing = send(`${url}/topics/changes`, { method: 'POST', headers, agent: agent ?? false })
    outgoing.on('error', () => {})
    outgoing.end(JSON.stringify(body))
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    return new ChangesStream(outgoing, response)
  }

  /** The pages so far. */
  get pages(): readonly ChangesPage[] {
    return this.events.filter(({ event }) => event === 'message').map(({ data }) => JSON.parse(data) as ChangesPage)
  }

  /** The event that ended the stream; undefined if there was no such event. */
  get end(): { readonly code: string; readonly message: string } | undefined {
    const end = this.events.find(({ event }) => event === 'end')
    return end && (JSON.parse(end.data) as { code: string; message: string })
  }

  /** Waits until the fold is complete and `holds` returns true. */
  complete(what: string, holds: (fold: Fold) => boolean = () => true): Promise<Fold> {
    return until(what, async () => (this.fold.isComplete && holds(this.fold) ? this.fold : undefined))
  }

  /** The reason for the end of the stream, or a note that it did not end within a time that only a defect exceeds. */
  async ended(): Promise<string> {
    for (const endMs = Date.now() + endMsMax; !this.isEnded; await new Promise((resolve) => setTimeout(resolve, 5)))
      if (Date.now() > endMs) return 'not at all'
    return this.end?.code ?? 'without a reason'
  }

  close(): void {
    this.outgoing.destroy()
  }

  #add(text: string): void {
    this.#text += text
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      this.#take(this.#text.slice(0, end))
      this.#text = this.#text.slice(end + 2)
    }
  }

  #take(block: string): void {
    const fields = { id: '', event: 'message', data: '' }
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (name === 'retry') this.retryMs = Number(value)
      if (name === 'id' || name === 'event' || name === 'data') fields[name] = value
    }
    if (fields.data === '') return
    this.events.push(fields)
    if (fields.event !== 'message') return
    const page = JSON.parse(fields.data) as ChangesPage
    assert.equal(page.next, fields.id, 'the id of an event is the token of its page')
    this.fold.take(page)
  }
}
