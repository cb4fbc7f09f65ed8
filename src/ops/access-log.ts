/**
 * The access log: one line per answer, and per request whose connection was closed instead, if a setting enables it, with
 * the key's name, the route, the outcome, the duration and the sizes; never a token, a path or a value.
 */
import type { Access } from '../auth/access.js'
import type { Answered, Service } from '../http/answer.js'
import type { Logger } from './log.js'
import { otherRoute } from './metrics/request-stats.js'

interface Outcome {
  /** Undefined where no answer was sent. */
  readonly status: number | undefined
  readonly cause: string | undefined
  readonly bytesOut: number
}

export function createAccessLog(log: Logger): Pick<Service<Access>, 'answered' | 'closed'> {
  function write({ route, startMs, endMs, bytesIn, caller }: Answered<Access>, outcome: Outcome): void {
    const ms = Math.round((endMs - startMs) * 1000) / 1000
    const { status, cause, bytesOut } = outcome
    log.info({ route: route?.path ?? otherRoute, status, cause, ms, bytesIn, bytesOut, key: caller?.name }, 'request')
  }

  return {
    answered: (request, { status, body, cause }) =>
      write(request, { status, cause, bytesOut: Buffer.byteLength(body) }),
    closed(cause, request) {
      if (request !== undefined) write(request, { status: undefined, cause, bytesOut: 0 })
    },
  }
}
