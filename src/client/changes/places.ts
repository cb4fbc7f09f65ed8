/**
 * Places for connections that are held open. A browser has six connections to a host over HTTP/1.1, for all its tabs: with six
 * streams open, no other request to it gets an answer, in any tab. So the tabs share `placesMax` places, by a BroadcastChannel,
 * which every page has, other than locks. Nothing but numbers goes over it. Elsewhere there is no such limit.
 *
 * The limit is soft: a tab that does not answer in time, since it is frozen, may hold a place that another tab takes, too.
 */

/** Two of six connections are left for requests. */
const placesMax = 4

/** How long the answers of other tabs may take, in ms. */
const answerMsMax = 50

/** How long a hidden tab keeps its places, in ms: long enough for a look at another one. */
const hiddenMsMax = 10_000

/** Between two polls without a place, in ms. */
const pollMs = 1000

/** The same in a hidden tab, at which nobody looks. */
const hiddenPollMs = 15_000

export interface Place {
  giveBack(): void
}

export interface Places {
  /** A place; undefined if there is none at the moment. */
  take(): Promise<Place | undefined>
  /** How long to wait between two polls without a place, in ms. */
  readonly pollMs: number
  /**
   * Calls back when all places are to be given back, and when it is worth trying to take one again.
   *
   * @returns what ends that
   */
  watch(onChange: () => void): () => void
}

const freePlace: Place = { giveBack() {} }

/** Where connections have no limit. */
const unlimited: Places = { take: async () => freePlace, pollMs, watch: () => () => {} }

/** The globals of a browser, whose types a service lacks. */
declare const document:
  | { readonly hidden: boolean; addEventListener(type: 'visibilitychange', listener: () => void): void }
  | undefined

/** One for each origin, since that is what the limit of connections is for. */
const known = new Map<string, Places>()

/** The places of this page's connections to an origin. */
export function placesAt(origin: string): Places {
  if (typeof document === 'undefined' || typeof BroadcastChannel === 'undefined') return unlimited
  const places = known.get(origin) ?? new SharedPlaces(origin, document)
  known.set(origin, places)
  return places
}

/** What tabs tell each other: `ask` is a random number, which tells one claim from another, and the least is the first. */
interface Message {
  readonly ask: number
  /** Places that this tab holds, or claims before the one who asked; without it, the message asks for them. */
  readonly held?: number
}

class SharedPlaces implements Places {
  readonly #channel: InstanceType<typeof BroadcastChannel>
  readonly #watchers = new Set<() => void>()
  #held = 0
  /** A claim that is not decided, the number that it asked with, and how many places others have. */
  #claim: Promise<void> | undefined
  #ask = Number.POSITIVE_INFINITY
  #others = 0
  #isHidden = false
  #hiding: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly origin: string,
    private readonly page: { readonly hidden: boolean } & Pick<NonNullable<typeof document>, 'addEventListener'>,
  ) {
    this.#channel = new BroadcastChannel(`topicd-places ${origin}`)
    this.#channel.onmessage = (event: unknown) => this.#hear((event as { readonly data: Message }).data)
    page.addEventListener('visibilitychange', () => this.#look())
    this.#look()
  }

  get pollMs(): number {
    return this.#isHidden ? hiddenPollMs : pollMs
  }

  async take(): Promise<Place | undefined> {
    if (this.#isHidden) return undefined
    if (isMultiplexed(this.origin)) return freePlace
    this.#claim ??= this.#askOthers()
    await this.#claim
    if (this.#isHidden || this.#others + this.#held >= placesMax) return undefined
    this.#held++
    return { giveBack: () => this.#held-- }
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange)
    return () => this.#watchers.delete(onChange)
  }

  async #askOthers(): Promise<void> {
    this.#others = 0
    this.#ask = Math.random()
    this.#channel.postMessage({ ask: this.#ask } satisfies Message)
    await new Promise((resolve) => setTimeout(resolve, answerMsMax))
    this.#ask = Number.POSITIVE_INFINITY
    this.#claim = undefined
  }

  #hear({ ask, held }: Message): void {
    if (held !== undefined) {
      if (ask === this.#ask) this.#others += held
      return
    }
    // Of two claims at the same time, each side must come to the same decision.
    const isFirst = this.#ask < ask
    if (this.#claim !== undefined && !isFirst) this.#others++
    const places = this.#held + (isFirst ? 1 : 0)
    if (places > 0) this.#channel.postMessage({ ask, held: places } satisfies Message)
  }

  #look(): void {
    clearTimeout(this.#hiding)
    if (this.page.hidden) this.#hiding = setTimeout(() => this.#turn(true), hiddenMsMax)
    else if (this.#isHidden) this.#turn(false)
  }

  #turn(isHidden: boolean): void {
    this.#isHidden = isHidden
    for (const onChange of [...this.#watchers]) onChange()
  }
}

/** Whether requests to an origin share a connection, as in HTTP/2; unknown, thus false, for one that does not allow to see it. */
function isMultiplexed(origin: string): boolean {
  const entries = performance.getEntriesByType('resource') as readonly {
    readonly name: string
    readonly nextHopProtocol?: string
  }[]
  return entries.some(
    ({ name, nextHopProtocol = '' }) => name.startsWith(`${origin}/`) && /^h[23]/.test(nextHopProtocol),
  )
}
