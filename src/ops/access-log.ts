/**
 * The access log: one line per answer, if a setting enables it, with the key's name, the route, the outcome, the
 * duration and the sizes; never a token, a path or a value.
 */
import type { Access } from '../auth/access.js'
import type { Answer, Answered } from '../http/answer.js'
import type { Logger } from './log.js'
import { otherRoute } from './metrics/request-stats.js'

/** Returns the function that logs an answer. */
export function createAccessLog(log: Logger): (request: Answered<Access>, answer: Answer) => void {
  return ({ route, startMs, endMs, bytesIn, caller }, { status, body, cause }) => {
    const ms = Math.round((endMs - startMs) * 1000) / 1000
    const bytesOut = Buffer.byteLength(body)
    log.info({ route: route?.path ?? otherRoute, status, cause, ms, bytesIn, bytesOut, key: caller?.name }, 'request')
  }
}
