/** The audit of API keys: one log line per requested change, from any caller, with names and never a token or its hash. */
import type { Caller, KeyRequest, KeyResponse } from '../../keys/requests.js'
import type { Logger } from '../../ops/log.js'
import type { ApiKeys } from './api-keys.js'

/** Maximum characters logged from a header that anyone can send: more than any list of proxies needs. */
const forwardedMax = 200

/** Passes the request on to the keys. The line is written before this settles. */
export async function audited(request: KeyRequest, keys: Pick<ApiKeys, 'request'>, log: Logger): Promise<KeyResponse> {
  if (request.command === 'listKeys') return keys.request(request)
  const note = (outcome: string): void =>
    log.info({ ...changeOf(request), ...originOf(request.by), outcome }, 'API key change')
  try {
    const answer = await keys.request(request)
    note(answer.response === true ? 'done' : 'refused')
    return answer
  } catch (error) {
    note(`failed: ${(error as Error).message}`)
    throw error
  }
}

const changes = { addKey: 'create', rotateKey: 'rotate', revokeKey: 'revoke' } as const

function changeOf(request: Exclude<KeyRequest, { command: 'listKeys' }>): object {
  const change = changes[request.command]
  if ('record' in request) return { change, key: request.record.name, allow: request.record.allow }
  return { change, key: 'rotation' in request ? request.rotation.name : request.name }
}

function originOf(by: Caller | undefined): object {
  if (by === undefined) return { from: 'command line' }
  const { name, address, forwardedFor } = by
  return { from: 'console', by: name, address, forwardedFor: forwardedFor.slice(0, forwardedMax) || undefined }
}
