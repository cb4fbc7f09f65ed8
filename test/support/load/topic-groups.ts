/**
 * Groups of a thousand topics, each added by one batch and then removed by one selector, one group after the other; and
 * what a store may have of each after a death or a power cut. A batch is there whole or not at all. A removal that was
 * broken off has removed the first of its matches, in tree order.
 */
import type { Client } from '../service/client.js'

const topics = 1000

/** How far a group has come: a step that was sent, and whether it was answered. */
export type Stage = 'adding' | 'added' | 'removing' | 'removed'

/** What was found of groups whose last step had no answer. */
export interface Found {
  readonly faults: readonly string[]
  /** Batches without an answer that are there, and that are not. */
  readonly whole: number
  readonly absent: number
  /** Removals of which only the first part is done. */
  readonly halfRemoved: number
}

export class GroupWriter {
  readonly #name: string
  readonly #stages: Stage[] = []
  /** Removals that were answered with another number. */
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

  /** Steps that were answered. */
  get acknowledged(): number {
    const answered = { adding: 0, added: 1, removing: 1, removed: 2 }
    return this.#stages.reduce((sum, stage) => sum + answered[stage], 0)
  }

  /** Adds a group and removes it; false if no answer came, after which it is left as it is. @throws when refused */
  async write(client: Client): Promise<boolean> {
    const group = this.#stages.length
    const path = `groups/${this.#name}/${group}`
    const operations = Array.from({ length: topics }, (_, i) => ({ op: 'addAndSet', path: `${path}/${i}`, value: i }))
    const step = async (sent: Stage, answered: Stage, route: string, body: object): Promise<string | undefined> => {
      this.#stages[group] = sent
      const answer = await client.post(route, body).catch(() => undefined)
      if (answer === undefined) return undefined
      if (answer.status !== 200) throw new Error(`${route} was answered ${answer.status}: ${answer.text}`)
      this.#stages[group] = answered
      return answer.text
    }
    if ((await step('adding', 'added', 'batch', { operations })) === undefined) return false
    const text = await step('removing', 'removed', 'remove', { selector: `*${path}//` })
    if (text !== undefined && text !== `{"removed":${topics}}`)
      this.#wrong.push(`a removal of ${topics} topics was answered ${text}`)
    return text !== undefined
  }

  /**
   * Compares a store with the stages.
   *
   * @param before at a moment before the death
   * @param after at one after it; the same where nothing was sent meanwhile
   * @throws when there is no answer
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

/** In tree order, which is that of their bytes. */
const inOrder: readonly string[] = Array.from({ length: topics }, (_, i) => String(i)).sort()

/** What is wrong with the topics of a group, in tree order. */
function faultOf(present: readonly string[], before: Stage | undefined, after: Stage): string | undefined {
  const count = present.length
  if (before === 'removed') return count === 0 ? undefined : `${count} topics that were removed are there`
  if (after === 'removing' || after === 'removed') {
    const isRest = present.every((topic, i) => topic === inOrder[topics - count + i])
    return isRest ? undefined : `${count} topics that are not the last of their order are there`
  }
  if (count === topics || (count === 0 && before !== 'added')) return undefined
  return `${count} topics of ${topics} are there`
}
