/**
 * A model of a service behind a `fetch` function: a tree of topics, their log, and the responses of the changes route, as pages and
 * streams. It fails when a test requires that. Tokens and walks behave as in the service: positions do not belong to a selector, but walk
 * positions do.
 */
import { selects } from './model.js'

interface Body {
  readonly selector: string
  readonly since?: string
}

/** A client's position in the log and, during a walk, in the walk. */
interface Place {
  readonly log: number
  readonly walk?: { readonly selector: string; readonly after: string }
}

interface Stream {
  readonly body: Body
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  place: Place
  isSending: boolean
}

/** Topics by path; a value is the number of the topic's last change. */
export type Tree = ReadonlyMap<string, number>

const pageSize = 2

/** A selector that is longer, or that has a longer member, is rejected. */
const selectorLengthMax = 1000

export class ChangesModel {
  /** The tree after each change; the first is empty. */
  readonly history: Tree[] = [new Map()]
  readonly streams = new Set<Stream>()
  /** The requests received so far. */
  readonly asked: (Body & { readonly isStream: boolean })[] = []
  /** Delays a response, and each further page of a stream. */
  delay: () => Promise<void> = () => new Promise((resolve) => setImmediate(resolve))
  /** Called for each request; returns a status to reject it with, or throws an error in place of `fetch`. */
  refuse: () => number | undefined = () => undefined
  /** The path of each change. */
  readonly #log: string[] = []
  /** The number of changes that the log has lost. */
  #forgotten = 0

  get tree(): Tree {
    return this.history.at(-1) as Tree
  }

  /** Sets a topic, or removes it. */
  change(path: string, isRemoved: boolean): void {
    const tree = new Map(this.tree)
    if (isRemoved) tree.delete(path)
    else tree.set(path, this.history.length)
    this.history.push(tree)
    this.#log.push(path)
    for (const stream of this.streams) void this.#send(stream)
  }

  forget(): void {
    this.#forgotten = this.#log.length
  }

  /** Ends a stream with an event, as the service does, or, without a code, like a lost connection. */
  endStream(stream: Stream, code?: string): void {
    this.streams.delete(stream)
    if (code === undefined) return stream.controller.error(new TypeError('terminated'))
    stream.controller.enqueue(bytes(`event: end\ndata: {"code":"${code}","message":"The end."}\n\n`))
    stream.controller.close()
  }

  readonly fetch = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
    const answer = this.#answer(init)
    await this.delay()
    init.signal?.throwIfAborted()
    return answer()
  }

  /** Decides the response immediately; a stream starts with the topics that exist when it is opened. */
  #answer(init: RequestInit): () => Response {
    const body = JSON.parse(String(init.body)) as Body
    const isStream = new Headers(init.headers).get('accept') === 'text/event-stream'
    this.asked.push({ ...body, isStream })
    const status = this.refuse() ?? this.#problem(body)
    if (status === 410) return () => refusal(410, 'since_gone')
    if (status !== undefined) return () => refusal(status, status === 400 ? 'invalid_parameter' : 'overloaded')
    const place = this.#placeOf(body)
    const headers = { 'content-type': 'text/event-stream' }
    if (isStream) return () => new Response(this.#open(body, place, init.signal ?? undefined), { headers })
    const text = JSON.stringify(this.#page(body, place).page)
    return () => new Response(text)
  }

  #problem({ selector, since }: Body): number | undefined {
    if (selector.length > selectorLengthMax) return 400
    if (since === undefined || since === 'now') return undefined
    const { log, walk } = JSON.parse(since) as Place
    if (walk !== undefined && walk.selector !== selector) return 400
    return log < this.#forgotten ? 410 : undefined
  }

  #placeOf({ selector, since }: Body): Place {
    if (since === 'now') return { log: this.#log.length }
    return since === undefined ? { log: this.#log.length, walk: { selector, after: '' } } : (JSON.parse(since) as Place)
  }

  #open(body: Body, place: Place, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start: (controller) => {
        const stream = { body, controller, place, isSending: false }
        this.streams.add(stream)
        signal?.addEventListener('abort', () => {
          if (this.streams.delete(stream)) controller.error(signal.reason)
        })
        controller.enqueue(bytes('retry: 1\n'))
        void this.#send(stream)
      },
    })
  }

  async #send(stream: Stream): Promise<void> {
    if (stream.isSending) return
    stream.isSending = true
    for (let hasMore = true; hasMore && this.streams.has(stream); ) {
      let text = ''
      // Send several pages at a time.
      for (let pages = 0; hasMore && pages < 3; pages++) {
        const { page, place } = this.#page(stream.body, stream.place)
        text += `data: ${JSON.stringify(page)}\n\n`
        stream.place = place
        hasMore = page.has_more
      }
      stream.controller.enqueue(bytes(text))
      await this.delay()
      hasMore ||= stream.place.log < this.#log.length
    }
    stream.isSending = false
  }

  #page({ selector }: Body, place: Place) {
    const tree = this.tree
    if (place.walk !== undefined) {
      const { after } = place.walk
      const paths = [...tree.keys()].sort().filter((path) => path > after && selects(selector, path))
      const shown = paths.slice(0, pageSize)
      const hasMore = paths.length > pageSize
      const next = hasMore ? { ...place, walk: { selector, after: shown.at(-1) as string } } : { log: place.log }
      // A walk is complete only with all changes since it started.
      return pageOf(tree, shown, next, hasMore || place.log < this.#log.length)
    }
    const changed: string[] = []
    let { log } = place
    while (log < this.#log.length && changed.length < pageSize) {
      const path = this.#log[log++] as string
      if (selects(selector, path) && !changed.includes(path)) changed.push(path)
    }
    return pageOf(tree, changed, { log }, log < this.#log.length)
  }
}

function pageOf(tree: Tree, paths: readonly string[], place: Place, has_more: boolean) {
  const results = paths.map((path) =>
    tree.has(path) ? { path, type: 'json', value: tree.get(path) } : { path, removed: true },
  )
  return { page: { has_more, results, next: JSON.stringify(place) }, place }
}

function refusal(status: number, code: string): Response {
  return new Response(JSON.stringify({ code, message: 'No.' }), { status })
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
