/** `topicd keys rotate`: gives an API key a new token; the old one stays valid for a while. */
import { hashToken, makeToken } from '../../auth/token.js'
import { exitCodes } from '../../base/exit-codes.js'
import { complain, fatal } from '../../base/stderr.js'
import { graceDefault, oldTokenExpiresMs, parseGrace, rotationTo, shownTime } from '../../keys/expiry.js'
import type { ListedKey } from '../../keys/record.js'
import { readConfig } from '../../settings/config.js'
import { command, storeSettings } from '../command.js'
import { requestsTo } from '../store/store-client.js'
import { checkedName } from './key-name.js'
import { issueToken } from './new-token.js'

export const rotateKey = command({
  summary: 'gives an API key a new token and prints it; it is not shown again',
  details:
    "The old token stays valid for a while, so that clients can switch. The key's permissions, rate and expiry stay the same. If an even older token is still valid after a recent rotation, it expires immediately.",
  operands: ['NAME'],
  settings: storeSettings,
  flags: {
    grace: {
      kind: 'text',
      value: 'PERIOD',
      default: graceDefault,
      help: 'how long the old token stays valid: a whole number and s, m, h or d; with 0s, it expires immediately',
      parse: (text: string) => parseGrace(text),
    },
  },
  async run({ settings, flags, operand }) {
    const name = checkedName(operand('NAME'))
    const nowMs = Date.now()
    const config = readConfig(settings)
    const key = (await requestsTo(config)({ command: 'listKeys' })).find((known) => known.name === name)
    if (key === undefined) fatal(exitCodes.failed, `there is no key named "${name}"`)
    const token = makeToken()
    const rotation = rotationTo(hashToken(token), key, flags.grace, nowMs)
    if ('problem' in rotation) fatal(exitCodes.failed, rotation.problem)
    const { expiresMs = Infinity } = key
    const { formerUntilMs } = rotation
    await issueToken(config, token, {
      store: async (send) =>
        (await send({ command: 'rotateKey', rotation }))
          ? undefined
          : `the key "${name}" was revoked or rotated at the same time`,
      unchanged: 'the key keeps its token',
      unknown: `the new token may not be valid; run "topicd keys rotate ${name}" again`,
    })
    complain(formerTokens(key, formerUntilMs && Math.min(formerUntilMs, expiresMs), nowMs))
  },
})

/** Returns a sentence about the validity of the key's previous tokens. */
function formerTokens(key: ListedKey, untilMs: number | undefined, nowMs: number): string {
  const end = untilMs === undefined ? 'expires now' : `is valid until ${shownTime(untilMs)}`
  const sentence = `the old token of "${key.name}" ${end}`
  const beforeMs = oldTokenExpiresMs(key, nowMs)
  return beforeMs === undefined
    ? sentence
    : `${sentence}; the one before it, which was valid until ${shownTime(beforeMs)}, expires now`
}
