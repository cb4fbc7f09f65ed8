/**
 * Groups of 1,000 topics, each added by one batch and then removed by one selector, in turn; and the possible remains of each in a store
 * after a death or a power cut. A batch exists as a whole or not at all. An interrupted removal has removed the first of its matches, in
 * tree order.
 */
import type { Client } from '../service/client.js'

const topics = 1000

/** The progress of a group: the last step sent, and whether it was acknowledged. */
export type Stage = 'adding' | 'added' | 'removing' | 'removed'

/** The state of groups whose last step had no response. */
export interface Found {
  readonly faults: readonly string[]
  /** Batches without a response that exist (`whole`) or not (`absent`). */
  readonly whole: number
  readonly absent: number
  /** Removals that were only partly executed. */
  readonly halfRemoved: number
}

export class GroupWriter {
  readonly #name: string
  readonly #stages: Stage[] = []
  /** Removals whose response has a wrong number. */
  readonly #wrong: string[] = []

  constructor(name: string) {
    this.#name = name
  }

  /** The stage of each group so far. */
  stages(): readonly Stage[] {
    return [...this.#stages]
  }

  get isWriting(): boolean {
    const last = this.#stages.at(-1)
    return last === 'adding' || last === 'removing'
  }

  /** The number of acknowledged steps. */
  get acknowledged(): number {
    const answered = { adding: 0, added: 1, removing: 1, removed: 2 }
    return this.#stages.reduce((sum, stage) => sum + answered[stage], 0)
  }

  /** Adds a group and removes it; returns false without a response, and leaves the group in that state. @throws Error if rejected */
  async write(client: Client): Promise<boolean> {
    const group = this.#stages.length
    const path = `groups/${this.#name}/${group}`
    const operations = Array.from({ length: topics }, (_, i) => ({ op: 'addAndSet', path: `${path}/${i}`, value: i }))
    const step = async (sent: Stage, answered: Stage, route: string, body: object): Promise<string | undefined> => {
      this.#stages[group] = sent
      const answer = await client.post(route, body).catch(() => undefined)
      if (answer === undefined) return undefined
      if (answer.status !== 200) throw new Error(`${route} returned ${answer.status}: ${answer.text}`)
      this.#stages[group] = answered
      return answer.text
    }
    if ((await step('adding', 'added', 'batch', { operations })) === undefined) return false
    const text = await step('removing', 'removed', 'remove', { selector: `*${path}//` })
    if (text !== undefined && text !== `{"removed":${topics}}`)
      this.#wrong.push(`a removal of ${topics} topics returned ${text}`)
    return text !== undefined
  }

  /**
   * Compares a store with the stages.
   *
   * @param before the stages at some time before the death
   * @param after the stages at some time after the death; the same if nothing was sent in between
   * @throws Error if there is no response
   */
  async found(client: Client, before: readonly Stage[], after: readonly Stage[]): Promise<Found> {
    const groups = new Map<number, string[]>()
    const faults = [...this.#wrong]
    for (const { results } of await client.walk(`*groups/${this.#name}//`, { size: topics })) {
      for (const { path, value } of results) {
        const [, , group, topic = ''] = path.split('/')
        groups.set(Number(group), [...(groups.get(Number(group)) ?? []), topic])
        if (value !== Number(topic)) faults.push(`${path} has ${value}`)
      }
    }
    for (const group of groups.keys())
      if (after[group] === undefined) faults.push(`group ${this.#name}/${group} was never sent`)
    let [whole, absent, halfRemoved] = [0, 0, 0]
    for (const [group, last] of after.entries()) {
      const present = groups.get(group) ?? []
      const fault = faultOf(present, before[group], last)
      if (fault !== undefined) faults.push(`group ${this.#name}/${group}, ${before[group]}, then ${last}: ${fault}`)
      if (last === 'adding') present.length === 0 ? absent++ : whole++
      if (last === 'removing' && present.length > 0 && present.length < topics) halfRemoved++
    }
    return { faults, whole, absent, halfRemoved }
  }
}

/** The topics' names in tree order, which is byte order. */
const inOrder: readonly string[] = Array.from({ length: topics }, (_, i) => String(i)).sort()

/** The fault in the topics of a group, which are in tree order. */
function faultOf(present: readonly string[], before: Stage | undefined, after: Stage): string | undefined {
  const count = present.length
  if (before === 'removed') return count === 0 ? undefined : `${count} removed topics exist`
  if (after === 'removing' || after === 'removed') {
    const isRest = present.every((topic, i) => topic === inOrder[topics - count + i])
    return isRest ? undefined : `${count} topics exist that are not the last in tree order`
  }
  if (count === topics || (count === 0 && before !== 'added')) return undefined
  return `${count} topics of ${topics} exist`
}
