/**
 * `/console/keys`, only for the console: a key with the permission `admin` can list all API keys. It can create, rotate and revoke
 * only keys that do not exceed its own permissions, expiry and rate (keys/makers.ts). The primary applies the changes, as
 * it does for the command line. A token is created here and leaves this process only in one response.
 */
import type { Access } from '../../auth/access.js'
import { tokenOf } from '../../auth/authorization.js'
import { hashToken, makeToken } from '../../auth/token.js'
import type { Route, Sender } from '../../http/answer.js'
import { graceDefault, isoTime, oldTokenExpiresMs, parseExpiry, parseGrace, rotationTo } from '../../keys/expiry.js'
import { excessOf, isAdministrator } from '../../keys/makers.js'
import { type KeyRecord, type ListedKey, operations, parseRights, rights, rightsProblem } from '../../keys/record.js'
import { type Caller, NothingDone } from '../../keys/requests.js'
import { type Path, parsePath } from '../../topics/path.js'
import type { ChangedKey, KeysBody, ListedKeyEntry } from '../bodies/key-bodies.js'
import { checkObject, membersOf, type Read, readBytes } from '../bodies/read-object.js'
import { keysShapes } from '../bodies/shapes.js'
import { ok, refuse } from '../context.js'
import { isProblem, type Problem, problem } from '../problems.js'
import type { Primary } from './primary.js'

/** Enough for a key with several subtrees; use the command line for a key with many. */
const bodyBytesMax = 8 * 1024

type BodyOf<Op> = Read<Extract<KeysBody, { readonly op: Op }>>

/** The primary, and the caller for whom it acts. */
interface Desk {
  readonly primary: Primary
  /** The caller's key, as found for this request. */
  readonly maker: KeyRecord
  readonly by: Caller
}

export function createKeysRoute(path: string, primary: Primary): Route<Access> {
  return {
    path,
    isRead: false,
    sameOrigin: true,
    async handle(bytes, { record: maker }, { sender }) {
      const { authorization, address, forwardedFor } = sender as Sender
      const by = { name: maker.name, tokenHash: hashToken(tokenOf(authorization) ?? ''), address, forwardedFor }
      const isAllowed = isAdministrator(maker)
      const body = isAllowed ? read(bytes) : problem('forbidden_operation', { operation: 'administer API keys' })
      if (isProblem(body)) return refuse(body)
      const result = await perform(body, { primary, maker, by })
      if (isProblem(result)) return refuse(result)
      return { ...ok(JSON.stringify(result)), headers: [['cache-control', 'no-store']] }
    },
  }
}

function read(bytes: Buffer): Read<KeysBody> | Problem {
  if (bytes.length > bodyBytesMax) return problem('body_too_large', { bytes: String(bodyBytesMax) })
  const object = readBytes(bytes, keysShapes.any)
  if (isProblem(object)) return object
  return checkObject(object, keysShapes.of(object.members.op)) ?? membersOf<KeysBody>(object)
}

async function perform(body: Read<KeysBody>, desk: Desk): Promise<object> {
  try {
    switch (body.op) {
      case 'list':
        return { keys: (await list(desk)).map((key) => entryOf(key, desk.maker)) }
      case 'create':
        return await create(body, desk)
      case 'rotate':
        return await rotate(body, desk)
      case 'revoke':
        return await revoke(body, desk)
    }
  } catch (error) {
    const isUndone = error instanceof NothingDone || body.op === 'list'
    const outcome = isUndone ? 'nothing was changed' : 'the API key may or may not have been changed; check the list'
    return problem('console_unavailable', { problem: `${(error as Error).message}; ${outcome}` })
  }
}

async function list({ primary, by }: Desk): Promise<readonly ListedKey[]> {
  return (await primary.keys({ command: 'listKeys', by })).response
}

function entryOf(key: ListedKey, maker: KeyRecord): ListedKeyEntry {
  const { name, allow, under, rate, madeMs, expiresMs, usedMs } = key
  const times = { created: isoTime(madeMs), expires: isoTime(expiresMs), used: isoTime(usedMs) }
  const former_until = isoTime(oldTokenExpiresMs(key))
  return { name, allow, under, ...times, rate, former_until, beyond: excessOf(key, maker) }
}

async function create(body: BodyOf<'create'>, { primary, maker, by }: Desk): Promise<ChangedKey | Problem> {
  const token = makeToken()
  const record = recordOf(body, maker, hashToken(token))
  if (isProblem(record)) return record
  const { response, late } = await primary.keys({ command: 'addKey', record, by })
  if (response === true) return { name: record.name, token, late }
  if (response === false) return conflict(`an API key named "${record.name}" already exists`)
  return refusalOf('create', record, maker)
}

/** Missing members default to those of the maker's key; `allow` defaults to its permissions for topics. */
function recordOf(body: BodyOf<'create'>, maker: KeyRecord, tokenHash: string): KeyRecord | Problem {
  const { name, under: texts = [], expires, rate = maker.rate } = body
  const allow = parseRights(body.allow ?? operations.filter((operation) => maker.allow.includes(operation)))
  if (allow === undefined) return wrong('allow', `must name one or more of ${rights.join(', ')}, each once`)
  const under: Path[] = []
  for (const [index, text] of texts.entries()) {
    const path = parsePath(text)
    if (typeof path !== 'string') return problem('invalid_path', { name: `under[${index}]`, problem: path.problem })
    under.push(path)
  }
  const expiresMs = expires === undefined ? maker.expiresMs : parseExpiry(expires)
  if (typeof expiresMs === 'object') return wrong('expires', expiresMs.problem)
  const record = { name, tokenHash, allow, under, madeMs: Date.now(), expiresMs, rate }
  const impossible = rightsProblem(record)
  return impossible === undefined ? record : wrong('under', `must be empty: ${impossible}`)
}

async function rotate({ name, keep_former_for: text }: BodyOf<'rotate'>, desk: Desk): Promise<ChangedKey | Problem> {
  const graceMs = parseGrace(text ?? graceDefault)
  if (typeof graceMs === 'object') return wrong('keep_former_for', graceMs.problem)
  const key = (await list(desk)).find((known) => known.name === name)
  if (key === undefined) return conflict(`there is no API key named "${name}"`)
  const token = makeToken()
  const rotation = rotationTo(hashToken(token), key, graceMs)
  if ('problem' in rotation) return conflict(rotation.problem)
  const { response, late } = await desk.primary.keys({ command: 'rotateKey', rotation, by: desk.by })
  if (!response) return refusalOf('rotate', key, desk.maker)
  const { formerUntilMs } = rotation
  const untilMs = formerUntilMs && Math.min(formerUntilMs, key.expiresMs ?? Infinity)
  return { name, token, former_until: isoTime(untilMs), late }
}

/** A missing key counts as revoked, because someone else may have revoked it. */
async function revoke({ name }: BodyOf<'revoke'>, desk: Desk): Promise<ChangedKey | Problem> {
  const { response, late } = await desk.primary.keys({ command: 'revokeKey', name, by: desk.by })
  const key = response ? undefined : (await list(desk)).find((known) => known.name === name)
  return key === undefined ? { name, late } : refusalOf('revoke', key, desk.maker)
}

/** The problem for a change that the store has rejected. */
function refusalOf(change: KeysBody['op'], key: KeyRecord<string>, maker: KeyRecord): Problem {
  const excess = excessOf(key, maker)
  if (excess === undefined) return conflict('API keys were changed at the same time; check the list')
  const operation = `${change} a key with more access than this one has: ${excess}`
  return problem('forbidden_operation', { operation })
}

function conflict(reason: string): Problem {
  return problem('key_conflict', { problem: reason })
}

function wrong(name: string, reason: string): Problem {
  return problem('invalid_key', { name, problem: reason })
}
