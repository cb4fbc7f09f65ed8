/**
 * A worker's picture of the API keys: who is calling, by the whole authorization line, and which keys have been used. It
 * looks at the store's revision a few times a second, so a revoked key is refused within a second everywhere, whoever
 * revoked it and wherever.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type KeyRecord, StoreError, type TopicStore } from '../store/store.js'
import { type Access, accessOf } from './access.js'
import { tokenOf } from './authorization.js'
import { hashToken } from './token.js'

export interface Keyring {
  /** Who is calling, by the value of the `authorization` header; undefined for nobody known. */
  find(authorization: string): Access | undefined
  /** Whether the keys have been read at all: a store may be away when the service starts. */
  isKnown(): boolean
  close(): Promise<void>
}

/** Between two looks at the revision: a quarter of the second that a revocation may take. */
const lookMs = 250

/** Between two writes of when keys were last used; so coarse is what `keys list` shows. */
const touchMs = 60_000

/** How long the last such write may hold up a stop, in ms. */
const lastTouchMsMax = 1000

/** Spellings of known authorization lines that are remembered; beyond it the memory starts anew. */
const linesMax = 10_000

/**
 * Reads the keys, and goes on watching them.
 *
 * @param onFailure told, once until it can be again, of a store that could not be read; the last known keys stay in force
 */
export async function openKeyring(store: TopicStore, onFailure: (error: unknown) => void): Promise<Keyring> {
  const lines = new Map<string, Access>()
  const used = new Map<string, number>()
  let byHash: ReadonlyMap<string, Access> = new Map()
  let revision: number | undefined
  let timer: NodeJS.Timeout | undefined

  async function look(): Promise<void> {
    const current = await store.keysRevision()
    if (current === revision) return
    const records = await store.readKeys()
    byHash = new Map(records.map((record: KeyRecord) => [record.tokenHash, accessOf(record)]))
    lines.clear()
    revision = current
  }

  async function touch(): Promise<void> {
    if (used.size === 0) return
    const uses = new Map(used)
    used.clear()
    await store.touchKeys(uses)
  }

  let failing = false
  function onFailing(error: unknown): void {
    if (!failing) onFailure(error)
    failing = true
  }

  let touching: Promise<void> | undefined
  let touchedMs = Date.now()
  /** Begins to write down the uses, one such write at a time. A slow disk must not delay the next look. */
  function touchBeside(): void {
    if (touching !== undefined || Date.now() - touchedMs < touchMs) return
    touchedMs = Date.now()
    touching = touch()
      .catch(onFailing)
      .finally(() => (touching = undefined))
  }

  async function tick(): Promise<void> {
    try {
      await look()
      failing = false
    } catch (error) {
      if (store.notReady?.() === undefined) onFailing(error)
    }
    touchBeside()
    if (timer !== undefined) timer = setTimeout(tick, lookMs)
  }

  await look().catch((error: unknown) => {
    // A store elsewhere may be away, and come back.
    if (!(error instanceof StoreError)) throw error
  })
  timer = setTimeout(tick, lookMs)

  function find(authorization: string): Access | undefined {
    let access = lines.get(authorization)
    if (access === undefined) {
      const token = tokenOf(authorization)
      access = token === undefined ? undefined : byHash.get(hashToken(token))
      if (access === undefined) return undefined
      if (lines.size >= linesMax) lines.clear()
      lines.set(authorization, access)
    }
    if (!used.has(access.name)) used.set(access.name, Date.now())
    return access
  }

  /** A store that cannot take it now has its own ways to say so, and what is lost is a minute of `keys list`. */
  async function touchLast(): Promise<void> {
    await touching
    await touch().catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error
    })
  }

  return {
    find,
    isKnown: () => revision !== undefined,
    async close() {
      clearTimeout(timer)
      timer = undefined
      await Promise.race([touchLast(), sleep(lastTouchMsMax)])
    },
  }
}
