/**
 * A function node of Node-RED, as far as a flow of docs/recipes.md needs it: its code runs in a context of its own, with
 * the objects that Node-RED gives it. Timers fire at once.
 */
import { createContext, runInContext } from 'node:vm'

export interface Message {
  readonly topic?: string
  readonly payload?: unknown
  /** Set by the function, and kept by the node that sends the request. */
  readonly request?: number
  readonly statusCode?: number | string
  readonly headers?: Readonly<Record<string, string>>
}

/** The members of a flow's node that matter here. */
export interface FunctionSource {
  readonly func: string
  readonly initialize: string
}

export class FunctionNode {
  /** What it has sent and nobody has taken yet. */
  readonly sent: Message[] = []
  readonly warnings: string[] = []
  readonly errors: string[] = []
  /** The text beside the node in the editor; undefined without one. */
  status: string | undefined
  /** How long it has waited, in ms, each time that it did. */
  readonly waits: number[] = []
  readonly #kept = new Map<string, unknown>()
  readonly #sandbox = createContext({
    Buffer,
    setTimeout: (callback: () => void, ms: number) => {
      this.waits.push(ms)
      callback()
    },
    context: {
      get: (key: string) => this.#kept.get(key),
      set: (key: string, value: unknown) => void this.#kept.set(key, value),
    },
    node: {
      send: (message: Message) => void this.sent.push(message),
      status: ({ text }: { readonly text?: string }) => {
        this.status = text
      },
      warn: (text: string) => void this.warnings.push(text),
      error: (text: string) => void this.errors.push(text),
    },
  })

  constructor(private readonly source: FunctionSource) {
    this.deploy()
  }

  /** Starts it, as each deployment does. */
  deploy(): void {
    this.#run(this.source.initialize, {})
  }

  /** Gives it a message. */
  input(message: Message): void {
    this.#run(this.source.func, message)
  }

  #run(code: string, message: Message): void {
    runInContext(`(msg) => {\n${code}\n}`, this.#sandbox)(message)
  }
}
