/**
 * A function node of Node-RED, with the features that a flow in docs/recipes.md needs: its code runs in its own context, with the objects
 * that Node-RED provides. Timers fire immediately.
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

/** The relevant members of a flow's node. */
export interface FunctionSource {
  readonly func: string
  readonly initialize: string
}

export class FunctionNode {
  /** Messages that it has sent and that no test has taken yet. */
  readonly sent: Message[] = []
  readonly warnings: string[] = []
  readonly errors: string[] = []
  /** The text next to the node in the editor; undefined without a text. */
  status: string | undefined
  /** The duration of each of its waits, in ms. */
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

  /** Starts the node, as each deployment does. */
  deploy(): void {
    this.#run(this.source.initialize, {})
  }

  /** Passes a message to the node. */
  input(message: Message): void {
    this.#run(this.source.func, message)
  }

  #run(code: string, message: Message): void {
    runInContext(`(msg) => {\n${code}\n}`, this.#sandbox)(message)
  }
}
