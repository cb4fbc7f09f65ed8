/** Requests about API keys that leave a line in the log: those of the command line, and those of keys in the console. */
import type { Peer } from '../../http/answer.js'
import type { Maker } from '../../keys/makers.js'
import type { KeyRequest, KeyResponse } from '../../keys/requests.js'
import { type KeyChange, logKeyChange } from '../../ops/key-audit.js'
import type { Logger } from '../../ops/log.js'
import type { ApiKeys } from './api-keys.js'

type Audited = (request: KeyRequest, by?: Maker, peer?: Peer) => Promise<KeyResponse>

/** @returns `request` as in ApiKeys; the line is written before it settles */
export function auditedKeys(keys: Pick<ApiKeys, 'request'>, log: Logger): Audited {
  return async (request, by, peer) => {
    if (request.command === 'listKeys') return keys.request(request, by)
    const note = (outcome: string): void => logKeyChange(log, { ...changeOf(request), by: by?.name, peer, outcome })
    try {
      const answer = await keys.request(request, by)
      note(outcomeOf(request.command, answer.response))
      return answer
    } catch (error) {
      note(`failed: ${(error as Error).message}`)
      throw error
    }
  }
}

function changeOf(request: Exclude<KeyRequest, { command: 'listKeys' }>): Pick<KeyChange, 'change' | 'key' | 'allow'> {
  switch (request.command) {
    case 'addKey':
      return { change: 'create', key: request.record.name, allow: request.record.allow }
    case 'rotateKey':
      return { change: 'rotate', key: request.rotation.name }
    case 'revokeKey':
      return { change: 'revoke', key: request.name }
    default:
      return request satisfies never
  }
}

/** In the words of the problems of `/console/keys`. */
const refusals = { addKey: 'key_exists', rotateKey: 'key_changed', revokeKey: 'no_such_key' } as const

function outcomeOf(command: keyof typeof refusals, response: KeyResponse['response']): string {
  if (response === false) return `refused: ${refusals[command]}`
  return typeof response === 'string' ? `refused: ${response}` : 'done'
}
