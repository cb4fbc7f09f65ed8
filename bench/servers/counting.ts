/**
 * Reads responses to increments, and retries an increment on a server that can only compare and set. Pure: a driver runs this in its own
 * process, so an exchange names the method and carries no function.
 */

/** The server that sends the responses, and the counter's path. */
export interface Counting {
  readonly of: 'topicd' | 'redis' | 'etcd'
  readonly path: string
}

/** The meaning of a response: the counter has grown, or another client was quicker and the increment must be retried. */
type Verdict = 'added' | 'retry'

/** One connection's increments of a counter, each sent after the previous response. */
export class Counter {
  readonly #counting: Counting
  /** The latest sum received. The next sum is larger, even though other connections also add. */
  #sum = -1
  /** The revision that the next attempt compares with. */
  #revision = '0'
  #found = 0

  constructor(counting: Counting) {
    this.#counting = counting
  }

  /** Whether the next request depends on the last response. */
  get isAttempting(): boolean {
    return this.#counting.of === 'etcd'
  }

  /** The body of the next attempt. */
  get attempt(): string {
    return attempt(this.#counting.path, this.#revision, this.#found + 1)
  }

  /** @returns undefined if the response is wrong */
  read(body: string): Verdict | undefined {
    if (this.#counting.of === 'etcd') return this.#readTransaction(body)
    const { of, path } = this.#counting
    const [start, end] = of === 'topicd' ? [`{"path":${JSON.stringify(path)},"value":`, '}'] : ['{"INCRBY":', '}']
    const sum = body.slice(start.length, -end.length)
    const isRight = body.startsWith(start) && body.endsWith(end) && /^\d+$/.test(sum)
    return isRight && this.#isMore(Number(sum)) ? 'added' : undefined
  }

  #readTransaction(body: string): Verdict | undefined {
    const key = base64(this.#counting.path)
    const [, put] =
      /"succeeded":true,"responses":\[\{"response_put":\{"header":\{"revision":"(\d+)"\}\}\}\]\}$/.exec(body) ?? []
    if (put !== undefined) {
      this.#revision = put
      this.#found++
      return this.#isMore(this.#found) ? 'added' : undefined
    }
    const [, found, revision, value] =
      /"responses":\[\{"response_range":.*"key":"(.*?)",.*"mod_revision":"(\d+)",.*"value":"(.*?)"\}\],"count":"1"\}\}\]\}$/.exec(
        body,
      ) ?? []
    const text = Buffer.from(value ?? '', 'base64').toString()
    if (found !== key || revision === undefined || !/^\d+$/.test(text) || body.includes('"succeeded"')) return undefined
    this.#revision = revision
    this.#found = Number(text)
    return 'retry'
  }

  #isMore(sum: number): boolean {
    const isMore = sum > this.#sum
    this.#sum = sum
    return isMore
  }
}

/** The body of an attempt by a client that has not read the counter: it only reads the value. */
export function firstAttempt(path: string): string {
  return attempt(path, '0', 1)
}

/** Writes a value if the key still has this revision; otherwise reads the value. */
function attempt(path: string, revision: string, value: number): string {
  const key = base64(path)
  return JSON.stringify({
    compare: [{ key, target: 'MOD', result: 'EQUAL', mod_revision: revision }],
    success: [{ request_put: { key, value: base64(String(value)) } }],
    failure: [{ request_range: { key } }],
  })
}

/** Keys and values in etcd's JSON. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
