/** A worker's questions to the primary, and the replies. One of a version that does not reply is never asked. */
import type { Primary } from '../../api/console/primary.js'
import { type KeyResponse, NothingDone } from '../../keys/requests.js'
import type { Answers, Question, ToChild } from '../messages.js'
import { sendToParent } from '../parent.js'

/** Longer than the primary's own deadlines for a change of API keys (cluster/primary/api-keys.ts). */
const keysMsMax = 60_000

const overviewMsMax = 5000

/** Further questions are refused: each is work for the primary, of which there is one. */
const waitingMax = 64

interface Waiting {
  readonly resolve: (answer: Answers[keyof Answers]) => void
  readonly reject: (reason: Error) => void
  readonly timer: NodeJS.Timeout
}

export class Questions implements Primary {
  readonly #waiting = new Map<number, Waiting>()
  #last = 0

  readonly keysFor: Primary['keysFor'] = (peer) => async (request, by) => {
    const asked = { about: 'keys', request, by, peer } as const
    // The response is that of the request's own command.
    return (await this.#ask(asked, keysMsMax)) as KeyResponse<typeof request.command>
  }

  overview(): Promise<Answers['overview']> {
    return this.#ask({ about: 'overview' }, overviewMsMax)
  }

  take(message: Extract<ToChild, { readonly kind: 'reply' | 'noReply' }>): void {
    const waiting = this.#waiting.get(message.question)
    if (waiting === undefined) return
    this.#waiting.delete(message.question)
    clearTimeout(waiting.timer)
    if (message.kind === 'reply') return waiting.resolve(message.answer)
    const { error, nothingDone } = message
    waiting.reject(nothingDone ? new NothingDone(error) : new Error(error))
  }

  #ask<Asked extends Question>(asked: Asked, withinMs: number): Promise<Answers[Asked['about']]> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= waitingMax) return reject(new NothingDone('too many requests wait for its answer'))
      const question = ++this.#last
      const timer = setTimeout(() => {
        this.#waiting.delete(question)
        reject(new Error(`it did not answer within ${withinMs / 1000} s`))
      }, withinMs)
      this.#waiting.set(question, { resolve: resolve as Waiting['resolve'], reject, timer })
      sendToParent({ kind: 'question', question, asked })
    })
  }
}
