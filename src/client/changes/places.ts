/**
 * Places for connections that are held open. A browser has six connections to a host over HTTP/1.1, for all its tabs: with six
 * streams open, no other request to it gets an answer, in any tab. So the tabs share `placesMax` places, by a BroadcastChannel,
 * which every page has, other than locks. Nothing but numbers goes over it. Elsewhere there is no such limit.
 *
 * A tab claims a place and takes it, unless enough earlier claims are known within a moment. Where it hears of them later, from
 * a busy tab, it gives the place back. So the limit may be exceeded for a while, but not for long.
 */

/** Two of six connections are left for requests. */
const placesMax = 4

/** How long a claim waits for the claims of other tabs, in ms. */
const answerMsMax = 50

/** Claims of a tab that has not answered for so long, in ms, are void: it is closed, or frozen. */
const silenceMsMax = 10_000

/** A hidden tab keeps its places for this long: enough for a look at another tab. */
const hiddenMsMax = 10_000

const pollMs = 1000

const hiddenPollMs = 15_000

export interface Place {
  giveBack(): void
}

export interface Places {
  /** Undefined if there is none at the moment. @param onLost called when the place is gone */
  take(onLost: () => void): Promise<Place | undefined>
  /** Between two polls without a place. */
  readonly pollMs: number
  /** Calls back when it is worth trying to take a place immediately. @returns stops the calls */
  watch(onVisible: () => void): () => void
}

const unlimited: Places = { take: async () => ({ giveBack() {} }), pollMs, watch: () => () => {} }

/** The globals of a browser, whose types a service lacks. */
declare const document:
  | { readonly hidden: boolean; addEventListener(type: 'visibilitychange', listener: () => void): void }
  | undefined

/** One for each origin, because browsers limit connections for each. */
const known = new Map<string, Places>()

export function placesAt(origin: string): Places {
  if (typeof document === 'undefined' || typeof BroadcastChannel === 'undefined') return unlimited
  const places = known.get(origin) ?? new SharedPlaces(origin, document)
  known.set(origin, places)
  return places
}

interface Message {
  /** A random number for each tab. */
  readonly from: number
  /** When it claimed each of its places, in ms, with a random fraction; earlier claims come first. */
  readonly claims: readonly number[]
  /** Requests the claims of the other tabs. */
  readonly asks: boolean
}

class SharedPlaces implements Places {
  readonly #id = Math.random()
  readonly #channel: InstanceType<typeof BroadcastChannel>
  readonly #watchers = new Set<() => void>()
  /** The callback for the loss of each claim's place. */
  readonly #claims = new Map<number, () => void>()
  /** The claims of each other tab, by its id. */
  readonly #others = new Map<number, { readonly claims: readonly number[]; readonly heardMs: number }>()
  #isHidden = false
  #hiding: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly origin: string,
    private readonly page: NonNullable<typeof document>,
  ) {
    this.#channel = new BroadcastChannel(`topicd-places ${origin}`)
    this.#channel.onmessage = (event: unknown) => this.#hear((event as { readonly data: Message }).data)
    page.addEventListener('visibilitychange', () => this.#look())
    this.#look()
  }

  get pollMs(): number {
    return this.#isHidden ? hiddenPollMs : pollMs
  }

  async take(onLost: () => void): Promise<Place | undefined> {
    if (this.#isHidden) return undefined
    for (const [id, { heardMs }] of this.#others)
      if (performance.now() - heardMs > silenceMsMax) this.#others.delete(id)
    const claim = Date.now() + Math.random()
    this.#claims.set(claim, () => {})
    this.#tell(true)
    await new Promise((resolve) => setTimeout(resolve, answerMsMax))
    this.#settle()
    if (!this.#claims.has(claim)) return undefined
    this.#claims.set(claim, onLost)
    return { giveBack: () => this.#drop(claim) }
  }

  watch(onVisible: () => void): () => void {
    this.#watchers.add(onVisible)
    return () => this.#watchers.delete(onVisible)
  }

  #tell(asks: boolean): void {
    this.#channel.postMessage({ from: this.#id, claims: [...this.#claims.keys()], asks } satisfies Message)
  }

  #hear({ from, claims, asks }: Message): void {
    this.#others.set(from, { claims, heardMs: performance.now() })
    if (asks && this.#claims.size > 0) this.#tell(false)
    this.#settle()
  }

  /** Drops claims of this tab that come after too many others. */
  #settle(): void {
    if (isMultiplexed(this.origin)) return
    const others = [...this.#others.values()].flatMap(({ claims }) => claims)
    const late = [...this.#claims.keys(), ...others].sort((a, b) => a - b).slice(placesMax)
    for (const claim of late) this.#drop(claim)
  }

  #drop(claim: number): void {
    const onLost = this.#claims.get(claim)
    if (onLost === undefined) return
    this.#claims.delete(claim)
    this.#tell(false)
    onLost()
  }

  #look(): void {
    clearTimeout(this.#hiding)
    if (this.page.hidden) this.#hiding = setTimeout(() => this.#hide(), hiddenMsMax)
    else if (this.#isHidden) {
      this.#isHidden = false
      for (const onVisible of [...this.#watchers]) onVisible()
    }
  }

  #hide(): void {
    this.#isHidden = true
    for (const claim of [...this.#claims.keys()]) this.#drop(claim)
  }
}

/** True with HTTP/2. An origin that does not allow reading it counts as false. */
function isMultiplexed(origin: string): boolean {
  const entries = performance.getEntriesByType('resource') as readonly {
    readonly name: string
    readonly nextHopProtocol?: string
  }[]
  return entries.some(
    ({ name, nextHopProtocol = '' }) => name.startsWith(`${origin}/`) && /^h[23]/.test(nextHopProtocol),
  )
}
