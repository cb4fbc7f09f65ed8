/** Uploads of lines, piece by piece, and the response so far. They never retry. */
import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { request as requestOverTls } from 'node:https'
import { turn } from '../turns.js'
import { until } from './server.js'

/** The target of uploads. */
interface UploadTarget {
  readonly url: string
  readonly token: string
  /** The agent for https. */
  readonly agent?: Agent
  /** Whether the response should start before the body has ended; true by default. */
  readonly showsProgress?: boolean
}

/** A line of a response, or a whole response that is an error. */
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
  /** Whether the response is complete. */
  isComplete = false
  /** The error that ended the connection early. */
  error: Error | undefined
  readonly #outgoing: ClientRequest

  /** @param length the length of the body, if it is announced */
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

  /** Sends a piece; resolves when the system has taken it, or the connection has closed. */
  async write(text: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.#outgoing.write(text, () => resolve()))
    // Otherwise a loop of writes that the system takes immediately would never read the response.
    await turn()
  }

  /** Ends the body. @returns the lines of the whole response */
  async end(text: string | Buffer = ''): Promise<readonly UploadLine[]> {
    this.#outgoing.end(text)
    await until('the response is complete', async () => this.isComplete || this.error || undefined)
    if (!this.isComplete) throw this.error
    return this.lines
  }

  /** The complete lines so far. */
  get lines(): readonly UploadLine[] {
    const texts = this.text.split('\n').slice(0, -1)
    return texts.map((text) => JSON.parse(text) as UploadLine)
  }

  /** The error, if the response is one. */
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

/** Uploads a whole body that should be stored completely, without progress unless `target` asks for it. */
export function upload(target: UploadTarget, text: string | Buffer): Promise<readonly UploadLine[]> {
  return new UploadRequest({ showsProgress: false, ...target }).end(text)
}

/** Uploads a whole body without asking for progress. @returns the expected error */
export async function refusedUpload(target: UploadTarget, text: string | Buffer): Promise<UploadLine> {
  const request = new UploadRequest({ ...target, showsProgress: false })
  await request.end(text)
  return request.refusal
}
