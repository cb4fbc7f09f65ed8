/** Uploads of lines, piece by piece, and what has been answered so far. It never retries. */
import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { request as requestOverTls } from 'node:https'
import { turn } from '../turns.js'
import { until } from './server.js'

/** Where uploads go. */
interface UploadTarget {
  readonly url: string
  readonly token: string
  /** For https. */
  readonly agent?: Agent
  /** Whether the answer is to begin before the body has ended; by default it is. */
  readonly showsProgress?: boolean
}

/** A line of an answer, or the whole of one that is an error. */
export interface UploadLine {
  readonly status?: number | undefined
  readonly lines?: readonly UploadLine[]
  readonly done?: true
  readonly durable?: number
  readonly refused?: number
  readonly unlisted?: number
  readonly line?: number
  readonly code?: string
  readonly message?: string
}

export class UploadRequest {
  text = ''
  response: IncomingMessage | undefined
  /** Whether the answer is complete. */
  isComplete = false
  /** What ended the connection early. */
  error: Error | undefined
  readonly #outgoing: ClientRequest

  /** @param length of the body, if it is announced */
  constructor({ url, token, agent, showsProgress = true }: UploadTarget, length?: number) {
    const headers = {
      authorization: `Apikey ${token}`,
      'content-type': 'application/x-ndjson',
      accept: showsProgress ? 'application/x-ndjson' : '*/*',
      ...(length === undefined ? {} : { 'content-length': String(length) }),
    }
    const send = agent === undefined ? request : requestOverTls
    this.#outgoing = send(`${url}/topics/batch`, { method: 'POST', headers, agent: agent ?? false })
    this.#outgoing.on('error', (error) => (this.error ??= error))
    this.#outgoing.on('response', (response) => {
      this.response = response
      response.setEncoding('utf8').on('data', (text: string) => (this.text += text))
      response.on('error', (error) => (this.error ??= error))
      response.on('end', () => (this.isComplete = response.complete))
    })
    this.#outgoing.flushHeaders()
  }

  /** Sends a piece; resolves once the system has taken it, or the connection has ended. */
  async write(text: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.#outgoing.write(text, () => resolve()))
    // Else a loop of writes that are taken at once would never read the answer.
    await turn()
  }

  /** Ends the body. @returns the lines of the whole answer */
  async end(text: string | Buffer = ''): Promise<readonly UploadLine[]> {
    this.#outgoing.end(text)
    await until('the answer is complete', async () => this.isComplete || this.error || undefined)
    if (!this.isComplete) throw this.error
    return this.lines
  }

  /** The complete lines so far. */
  get lines(): readonly UploadLine[] {
    const texts = this.text.split('\n').slice(0, -1)
    return texts.map((text) => JSON.parse(text) as UploadLine)
  }

  /** The error, if the answer is one. */
  get refusal(): UploadLine {
    return { status: this.response?.statusCode, ...JSON.parse(this.text) }
  }

  get last(): UploadLine | undefined {
    return this.lines.at(-1)
  }

  close(): void {
    this.#outgoing.destroy()
  }
}

/** Uploads a whole text, all of which is to be stored, unless progress is asked for. */
export function upload(target: UploadTarget, text: string | Buffer): Promise<readonly UploadLine[]> {
  return new UploadRequest({ showsProgress: false, ...target }).end(text)
}

/** Uploads a whole text without asking for progress. @returns the error, which there must be */
export async function refusedUpload(target: UploadTarget, text: string | Buffer): Promise<UploadLine> {
  const request = new UploadRequest({ ...target, showsProgress: false })
  await request.end(text)
  return request.refusal
}
