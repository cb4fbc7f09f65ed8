/**
 * The access log, if a setting enables it: one line per response, and one per request whose connection was closed instead. A
 * line contains the key's name, the route, the outcome, the duration and the sizes; never a token, a path or a value.
 */
import type { Access } from '../auth/access.js'
import type { Answered, Service } from '../http/answer.js'
import type { Logger } from './log.js'
import { otherRoute, type RequestCounter } from './metrics/request-stats.js'

/** Also counts the requests that it logs. */
export function createAccessLog(log: Logger, counter: RequestCounter): Pick<Service<Access>, 'answered' | 'closed'> {
  /** @param status undefined if no response was sent */
  function write(request: Answered<Access>, bytesOut: number, cause?: string, status?: number): void {
    const { route, startMs, endMs, bytesIn, caller } = request
    const ms = Math.round((endMs - startMs) * 1000) / 1000
    log.info({ route: route?.path ?? otherRoute, status, cause, ms, bytesIn, bytesOut, key: caller?.name }, 'request')
  }

  return {
    answered(request, answer) {
      counter.answered(request, answer)
      const { status, body, cause } = answer
      write(request, Buffer.byteLength(body), cause, status)
    },
    closed(cause, request) {
      counter.closed(cause)
      if (request !== undefined) write(request, 0, cause)
    },
  }
}
