/**
 * `/console/keys`, for the console alone: a key with the right `admin` lists, creates, rotates and revokes API keys, never
 * one that has more than it has itself (keys/makers.ts). The primary makes the changes, as for the command line. A token is
 * created here, is in one response, and leaves this process in no other way.
 */
import type { Access } from '../../auth/access.js'
import { tokenOf } from '../../auth/authorization.js'
import { hashToken, makeToken } from '../../auth/token.js'
import type { Answer, Page, PageRequest, Peer, Route, Sender } from '../../http/answer.js'
import { isoTime, oldTokenExpiresMs, rotationTo } from '../../keys/expiry.js'
import { excessOf, isAdministrator } from '../../keys/makers.js'
import { type KeyRecord, type ListedKey, operations, rights, rightsProblem } from '../../keys/record.js'
import { type KeyCommand, type KeyRequestOf, type KeyResponse, NothingDone } from '../../keys/requests.js'
import { type KeyChangeRequest, type KeyCreation, parseKeyChange } from '../bodies/parse-key-change.js'
import { ok, refuse } from '../context.js'
import { isProblem, type Problem, problem } from '../problems.js'
import { type Identify, noStore } from './caller.js'
import { earlierVersion, type Primary } from './primary.js'

/** Enough for a key with several subtrees; one with many is a matter for the command line. */
const bodyBytesMax = 8 * 1024

interface KeyRoutesOptions {
  readonly path: string
  readonly identify: Identify
  readonly primary: Primary | undefined
  readonly onKeyChange: (change: RefusedChange) => void
}

/** A change that an administrator's key asked for, and that is not made. What the primary is asked, it notes itself. */
export interface RefusedChange {
  readonly change: KeyChangeRequest['op']
  readonly key: string
  readonly by: string
  readonly peer: Peer
  readonly outcome: string
}

/** A key in the list. Times are in ISO 8601; members are left out where the key has no such thing. */
interface KeyEntry extends Pick<KeyRecord<string>, 'name' | 'allow' | 'under' | 'rate'> {
  readonly created: string | undefined
  readonly expires: string | undefined
  /** To the minute. */
  readonly used: string | undefined
  /** Until when the token before the last rotation is valid. */
  readonly former_until: string | undefined
}

interface ListedEntry extends KeyEntry {
  /** What the key has beyond the caller's, in words, so that the caller may not change it. */
  readonly beyond: string | undefined
}

/** Sends requests about API keys in the name of the caller. */
type Send = <Command extends KeyCommand>(request: KeyRequestOf<Command>) => Promise<KeyResponse<Command>>

export function createKeyRoutes(options: KeyRoutesOptions): { readonly page: Page; readonly route: Route<Access> } {
  const { path, identify, primary, onKeyChange } = options

  function sendFor({ name }: Access, { authorization, address, forwardedFor }: Sender): Send | Problem {
    if (primary === undefined) return earlierVersion
    const send = primary.keysFor({ address, forwardedFor })
    const by = { name, tokenHash: hashToken(tokenOf(authorization) ?? '') }
    return (request) => send(request, by)
  }

  function read(request: PageRequest): Answer | Promise<Answer> {
    const caller = identify(request)
    if ('refused' in caller) return caller.refused
    const send = adminProblem(caller.access) ?? sendFor(caller.access, request)
    return isProblem(send) ? refuse(send) : answerOf(list(send, caller.access.record))
  }

  async function handle(body: Buffer, caller: Access, sender: Sender): Promise<Answer> {
    const request = adminProblem(caller) ?? parseKeyChange(body)
    if (isProblem(request)) return refuse(request)
    const send = sendFor(caller, sender)
    if (isProblem(send)) return refuse(send)
    const { op: change, name: key } = request
    const peer = { address: sender.address, forwardedFor: sender.forwardedFor }
    const note = ({ code }: Problem): void =>
      onKeyChange({ change, key, by: caller.name, peer, outcome: `refused: ${code}` })
    return answerOf(perform(request, caller.record, send, note))
  }

  return {
    page: { path, sameOrigin: true, read },
    route: {
      path,
      isRead: false,
      sameOrigin: true,
      bodyBytesMax,
      handle: (body, caller, { sender }) => handle(body, caller, sender as Sender),
    },
  }
}

function adminProblem({ record }: Access): Problem | undefined {
  return isAdministrator(record) ? undefined : problem('forbidden_operation', { operation: 'administer API keys' })
}

async function answerOf(result: Promise<object>): Promise<Answer> {
  const known = await result
  return { ...(isProblem(known) ? refuse(known) : ok(JSON.stringify(known))), headers: noStore }
}

async function list(send: Send, maker: KeyRecord): Promise<object> {
  const keys = await listed(send)
  if (isProblem(keys)) return keys
  return { keys: keys.map((key): ListedEntry => ({ ...entryOf(key), beyond: excessOf(key, maker) })) }
}

async function listed(send: Send): Promise<readonly ListedKey[] | Problem> {
  try {
    return (await send({ command: 'listKeys' })).response
  } catch (error) {
    return problem('console_unavailable', { problem: (error as Error).message })
  }
}

function entryOf(key: ListedKey): KeyEntry {
  const { name, allow, under, rate, madeMs, expiresMs, usedMs } = key
  const times = { created: isoTime(madeMs), expires: isoTime(expiresMs), used: isoTime(usedMs) }
  return { name, allow, under, ...times, rate, former_until: isoTime(oldTokenExpiresMs(key)) }
}

/** @param note called with a problem that is found before the primary is asked for the change */
async function perform(
  request: KeyChangeRequest,
  maker: KeyRecord,
  send: Send,
  note: (problem: Problem) => void,
): Promise<object> {
  if (request.op === 'create') {
    const creation = recordOf(request, maker)
    if (!isProblem(creation)) return create(creation.record, creation.token, send)
    note(creation)
    return creation
  }
  const keys = await listed(send)
  if (isProblem(keys)) return keys
  const key = targetOf(request, keys, maker)
  if (!isProblem(key)) return request.op === 'rotate' ? rotate(key, request.graceMs, send) : revoke(key, send)
  note(key)
  return key
}

/** A new key and its token; what is not given is as its maker has it. */
function recordOf(request: KeyCreation, maker: KeyRecord): { record: KeyRecord; token: string } | Problem {
  const { name, under, expiresMs = maker.expiresMs, rate = maker.rate } = request
  const { allow = operations.filter((operation) => maker.allow.includes(operation)) } = request
  if (allow.length === 0)
    return problem('missing_parameter', { name: 'allow', allowed: `some of ${rights.join(', ')}` })
  const token = makeToken()
  const record = { name, tokenHash: hashToken(token), allow, under, madeMs: Date.now(), expiresMs, rate }
  const impossible = rightsProblem(record)
  if (impossible !== undefined)
    return problem('invalid_parameter', {
      name: 'under',
      found: `not empty, but ${impossible}`,
      allowed: 'an empty array',
    })
  const excess = excessOf(record, maker)
  return excess === undefined ? { record, token } : problem('forbidden_key', { operation: 'create', problem: excess })
}

function targetOf(
  { op, name }: Exclude<KeyChangeRequest, KeyCreation>,
  keys: readonly ListedKey[],
  maker: KeyRecord,
): ListedKey | Problem {
  const key = keys.find((known) => known.name === name)
  if (key === undefined) return problem('no_such_key', { name })
  const excess = excessOf(key, maker)
  return excess === undefined ? key : problem('forbidden_key', { operation: op, problem: excess })
}

async function create(record: KeyRecord, token: string, send: Send): Promise<object> {
  const answer = await changed(send({ command: 'addKey', record }))
  if (isProblem(answer)) return answer
  const { response, late } = answer
  if (response === true) return { ...entryOf(record), token, late: someOf(late) }
  const { name } = record
  if (response === 'forbidden')
    return problem('forbidden_key', { operation: 'create', problem: 'its own were changed just now' })
  return problem(response === false ? 'key_exists' : 'key_changed', { name })
}

async function rotate(key: ListedKey, graceMs: number, send: Send): Promise<object> {
  const token = makeToken()
  const rotation = rotationTo(hashToken(token), key, graceMs)
  if ('problem' in rotation) return problem('key_expired', rotation)
  const answer = await changed(send({ command: 'rotateKey', rotation }))
  if (isProblem(answer)) return answer
  const { name, tokenHash, formerHash, formerUntilMs } = rotation
  if (!answer.response) return problem('key_changed', { name })
  const former = formerUntilMs === undefined ? undefined : { tokenHash: formerHash, untilMs: formerUntilMs }
  return { ...entryOf({ ...key, tokenHash, former }), token, late: someOf(answer.late) }
}

async function revoke({ name }: ListedKey, send: Send): Promise<object> {
  const answer = await changed(send({ command: 'revokeKey', name }))
  if (isProblem(answer)) return answer
  if (!answer.response) {
    // Somebody else may have revoked it, or an attempt whose response was lost.
    const keys = await listed(send)
    if (isProblem(keys) || keys.some((known) => known.name === name)) return problem('key_changed', { name })
  }
  return { name, revoked: true, late: someOf(answer.late) }
}

async function changed<Response extends object>(request: Promise<Response>): Promise<Response | Problem> {
  try {
    return await request
  } catch (error) {
    const { message } = error as Error
    return error instanceof NothingDone
      ? problem('console_unavailable', { problem: message })
      : problem('unknown_key_outcome', { problem: message })
  }
}

function someOf(late: readonly number[] = []): readonly number[] | undefined {
  return late.length === 0 ? undefined : late
}
