/**
 * Places for connections that stay open. Over HTTP/1.1, all tabs of a browser share six connections to a host: with six
 * streams open, no other request from any tab gets a response. So the tabs share `placesMax` places through a BroadcastChannel,
 * which, unlike locks, is available to every page. Its messages contain only numbers and a flag. Other environments have no such limit.
 *
 * A tab claims a place and takes it unless it learns of enough earlier claims within `answerMsMax`. If a busy tab
 * reports such a claim too late, the place is given back afterwards. So the limit may be exceeded briefly.
 */

/** Leaves two of the six connections for requests. */
const placesMax = 4

/** The time that a claim waits for the claims of other tabs, in ms. */
const answerMsMax = 50

/** Claims of a tab that has been silent for this long, in ms, are void: the tab is closed or frozen. */
const silenceMsMax = 10_000

/** A hidden tab keeps its places for this long, in ms: enough for a look at another tab. */
const hiddenMsMax = 10_000

const pollMs = 1000

const hiddenPollMs = 15_000

export interface Place {
  giveBack(): void
}

export interface Places {
  /** Undefined if no place is free. @param onLost called when the place is lost */
  take(onLost: () => void): Promise<Place | undefined>
  /** The wait between two polls while there is no place, in ms. */
  readonly pollMs: number
  /** Calls back when the page becomes visible again and may take a place. @returns a function that stops the calls */
  watch(onVisible: () => void): () => void
}

const unlimited: Places = { take: async () => ({ giveBack() {} }), pollMs, watch: () => () => {} }

/** The browser's global, which has no type here. */
declare const document:
  | { readonly hidden: boolean; addEventListener(type: 'visibilitychange', listener: () => void): void }
  | undefined

/** The places of each origin, because browsers limit connections per origin. */
const known = new Map<string, Places>()

export function placesAt(origin: string): Places {
  if (typeof document === 'undefined' || typeof BroadcastChannel === 'undefined') return unlimited
  const places = known.get(origin) ?? new SharedPlaces(origin, document)
  known.set(origin, places)
  return places
}

interface Message {
  /** The sending tab's id, a random number. */
  readonly from: number
  /** The time of each of the tab's claims, in ms, with a random fraction; earlier claims take precedence. */
  readonly claims: readonly number[]
  /** Whether the other tabs must report their claims. */
  readonly asks: boolean
}

class SharedPlaces implements Places {
  readonly #id = Math.random()
  readonly #channel: InstanceType<typeof BroadcastChannel>
  readonly #watchers = new Set<() => void>()
  /** The callback of each claim, called if its place is lost. */
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

  /** Drops this tab's claims that are not among the `placesMax` earliest of all tabs. */
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

/** True if the origin uses HTTP/2 or later. False if the origin does not let the page read the protocol. */
function isMultiplexed(origin: string): boolean {
  const entries = performance.getEntriesByType('resource') as readonly {
    readonly name: string
    readonly nextHopProtocol?: string
  }[]
  return entries.some(
    ({ name, nextHopProtocol = '' }) => name.startsWith(`${origin}/`) && /^h[23]/.test(nextHopProtocol),
  )
}
