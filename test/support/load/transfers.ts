/**
 * Transfers between accounts, each a batch whose operations require the balances that its client has read, and a counter alongside. The sum
 * of all accounts is the same in every page. Transfers within the second half of the accounts also add an entry to a log, which explains
 * their balances afterwards.
 */
import { at } from '../elements.js'
import type { Random } from '../random.js'
import type { Client } from '../service/client.js'
import { follow, type Target } from './follow.js'

interface TransfersOptions {
  readonly random: Random
  /** The target of the client's next request; undefined while there is no service. */
  readonly target: (client: number) => Target | undefined
}

interface Counts {
  done: number
  conflicts: number
  unknown: number
}

interface Entry {
  readonly from: number
  readonly to: number
  readonly amount: number
}

const accounts = 20
const accountsOfHalf = accounts / 2
const initialBalance = 100
const sum = accounts * initialBalance

/** Clients that transfer and increment, and clients that only read. */
const writers = 16
const readers = 4

/** A client reads over one connection and writes over the other, so that they often lead to different workers. */
const connections = 2

export class Transfers {
  /** Transfers that returned 200. */
  done = 0
  conflicts = 0
  /** Transfers without a response. */
  unknown = 0
  pages = 0
  /** Increments by compare-and-set of one topic. */
  readonly counter = { done: 0, conflicts: 0, unknown: 0 }
  /** Pages whose sum is wrong. */
  readonly wrongPages: string[] = []
  /** Unexpected responses, by status and code. */
  readonly refused = new Map<string, number>()

  readonly #options: TransfersOptions
  readonly #loops: Promise<void>[] = []
  readonly #loggedIds: number[] = []
  #unknownLogged = 0
  #lastId = 0
  #isStopping = false

  constructor(options: TransfersOptions) {
    this.#options = options
  }

  /** Creates the accounts and starts the clients. */
  async start(client: Client): Promise<void> {
    await client.post('addAndSet', { path: 'counter', value: 0 })
    const operations = Array.from({ length: accounts }, (_, i) => ({
      op: 'addAndSet',
      path: pathOf(i),
      value: initialBalance,
    }))
    const { status, text } = await client.post('batch', { operations })
    if (status !== 200) throw new Error(`the accounts: ${text}`)
    const isOver = (): boolean => this.#isStopping
    for (let number = 0; number < writers + readers; number++) {
      const target = (): Target | undefined => this.#options.target(number)
      const step = (client: Client): Promise<boolean> => (number < writers ? this.#write(client) : this.#read(client))
      this.#loops.push(follow({ target, connections, isOver }, step))
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  get summary(): string {
    return (
      `${this.done} transfers and ${this.counter.done} increments, ${this.conflicts} and ${this.counter.conflicts} ` +
      `conflicts, ${this.unknown} and ${this.counter.unknown} without a response, ${this.pages} pages`
    )
  }

  /** The faults at the end, when no request is in flight. */
  async faults(client: Client): Promise<string[]> {
    const faults = [...this.wrongPages, ...[...this.refused].map(([answer, count]) => `${count} times ${answer}`)]
    const { counter } = this
    const counted = await countOf(client)
    if (counted < counter.done || counted > counter.done + counter.unknown)
      faults.push(
        `the counter is ${counted} after ${counter.done} increments and ${counter.unknown} with an unknown outcome`,
      )
    const balances = await this.#balances(client)
    const entries = await entriesOf(client)
    const lost = this.#loggedIds.filter((id) => !entries.has(id))
    if (lost.length > 0) faults.push(`acknowledged transfers are missing in the log: ${lost}`)
    if (entries.size > this.#loggedIds.length + this.#unknownLogged) faults.push('a conflict is in the log')
    const explained = Array.from({ length: accounts }, () => initialBalance)
    for (const { from, to, amount } of entries.values()) {
      explained[from] = at(explained, from) - amount
      explained[to] = at(explained, to) + amount
    }
    for (let account = accountsOfHalf; account < accounts; account++) {
      if (balances?.[account] !== explained[account])
        faults.push(`account ${account} has ${balances?.[account]}, and ${explained[account]} according to the log`)
    }
    return faults
  }

  async #write(client: Client): Promise<boolean> {
    if (!this.#options.random.oneIn(4)) return this.#transfer(client)
    const value = await countOf(client).catch(() => undefined)
    if (value === undefined) return false
    const body = { path: 'counter', value: value + 1, constraint: { value } }
    return isAnswered(await this.#send(client, 'set', body, this.counter))
  }

  /** Sends a change and counts its outcome. */
  async #send(client: Client, route: string, body: object, counts: Counts): Promise<keyof Counts | 'refused'> {
    const outcome = await client.post(route, body).then(
      ({ status, code }) => {
        if (status === 200) return 'done'
        if (code === 'unsatisfied_constraint') return 'conflicts'
        this.#refuse(`${status} ${code}`)
        return 'refused'
      },
      () => 'unknown' as const,
    )
    if (outcome !== 'refused') counts[outcome]++
    return outcome
  }

  async #read(client: Client): Promise<boolean> {
    return (await this.#balances(client)) !== undefined
  }

  /** All balances, from one page; undefined without a response. */
  async #balances(client: Client): Promise<readonly number[] | undefined> {
    let text: string
    try {
      const answer = await client.post('fetch', { selector: '*accounts//', size: accounts })
      text = answer.text
      if (answer.status !== 200) {
        this.#refuse(`${answer.status} ${answer.code}`)
        return undefined
      }
    } catch {
      return undefined
    }
    this.pages++
    const balances = (JSON.parse(text) as { results: { value: number }[] }).results.map(({ value }) => value)
    const found = balances.reduce((total, balance) => total + balance, 0)
    if (balances.length !== accounts || found !== sum) this.wrongPages.push(`a sum of ${found}: ${text}`)
    return balances
  }

  async #transfer(client: Client): Promise<boolean> {
    const { random } = this.#options
    const balances = await this.#balances(client)
    if (balances === undefined) return false
    const isLogged = random.oneIn(2)
    const first = isLogged ? accountsOfHalf : 0
    const from = first + random.below(accountsOfHalf)
    const to = first + ((from - first + 1 + random.below(accountsOfHalf - 1)) % accountsOfHalf)
    const amount = 1 + random.below(10)
    const id = ++this.#lastId
    const operations: object[] = [
      swap('set', from, at(balances, from), -amount),
      swap('addAndSet', to, at(balances, to), amount),
    ]
    const entry = { op: 'addAndSet', path: `log/${id}`, value: { from, to, amount }, constraint: { no_topic: true } }
    if (isLogged) operations.push(entry)
    const outcome = await this.#send(client, 'batch', { operations }, this)
    if (isLogged && outcome === 'done') this.#loggedIds.push(id)
    if (isLogged && outcome === 'unknown') this.#unknownLogged++
    return isAnswered(outcome)
  }

  #refuse(answer: string): void {
    this.refused.set(answer, (this.refused.get(answer) ?? 0) + 1)
  }
}

/** Paths sort by number, in tree order as well. */
function pathOf(account: number): string {
  return `accounts/${String(account).padStart(2, '0')}`
}

function isAnswered(outcome: string): boolean {
  return outcome === 'done' || outcome === 'conflicts'
}

/** A change of a balance, on the condition that it still has the value that was read. */
function swap(op: string, account: number, value: number, change: number): object {
  return { op, path: pathOf(account), value: value + change, constraint: { value } }
}

async function countOf(client: Client): Promise<number> {
  return (JSON.parse((await client.post('fetch', { path: 'counter' })).text) as { value: number }).value
}

/** The log's entries by their numbers. */
async function entriesOf(client: Client): Promise<ReadonlyMap<number, Entry>> {
  const pages = await client.walk('*log//', { size: 1000 })
  const items = pages.flatMap(({ results }) => results)
  return new Map(items.map(({ path, value }) => [Number(path.slice('log/'.length)), value as Entry]))
}
