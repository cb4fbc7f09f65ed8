/** From the bytes of a change of an API key to one checked request. Whether the caller may make it is not checked here. */
import { graceDefault, parseExpiry, parseGrace } from '../../keys/expiry.js'
import { isKeyName, keyNameForm, parseRights, type Right, rights } from '../../keys/record.js'
import { type Path, parsePath } from '../../topics/path.js'
import { isProblem, type Problem, problem } from '../problems.js'
import type { CreateKeyBody, RotateKeyBody } from './key-bodies.js'
import { checkObject, describe, membersOf, readBytes } from './read-object.js'
import { anyKeyChange, keyChangeShapes } from './shapes.js'

export interface KeyCreation {
  readonly op: 'create'
  readonly name: string
  /** These three are undefined for those of the caller. */
  readonly allow: readonly Right[] | undefined
  readonly expiresMs: number | undefined
  readonly rate: number | undefined
  readonly under: readonly Path[]
}

export type KeyChangeRequest =
  | KeyCreation
  | { readonly op: 'rotate'; readonly name: string; readonly graceMs: number }
  | { readonly op: 'revoke'; readonly name: string }

export function parseKeyChange(bytes: Buffer): KeyChangeRequest | Problem {
  const object = readBytes(bytes, anyKeyChange)
  if (isProblem(object)) return object
  const { op } = object.members
  const known = isOp(op) ? op : undefined
  const wrong = checkObject(object, known === undefined ? anyKeyChange : keyChangeShapes[known])
  if (wrong !== undefined) return wrong
  const { name } = membersOf<{ name: string }>(object)
  if (!isKeyName(name)) {
    return problem('invalid_parameter', { name: 'name', found: describe(name), allowed: `a name of ${keyNameForm}` })
  }
  // Without an `op` that is known, something is wrong.
  switch (known as keyof typeof keyChangeShapes) {
    case 'create':
      return creationOf(name, membersOf<CreateKeyBody>(object))
    case 'rotate': {
      const { keep_former_for: text = graceDefault } = membersOf<RotateKeyBody>(object)
      const graceMs = parseGrace(text)
      return typeof graceMs === 'number'
        ? { op: 'rotate', name, graceMs }
        : problem('invalid_time', { name: 'keep_former_for', ...graceMs })
    }
    case 'revoke':
      return { op: 'revoke', name }
  }
}

function isOp(op: unknown): op is keyof typeof keyChangeShapes {
  return typeof op === 'string' && Object.hasOwn(keyChangeShapes, op)
}

function creationOf(
  name: string,
  { allow: words, under: texts = [], expires, rate }: CreateKeyBody,
): KeyCreation | Problem {
  const allow = words && parseRights(words)
  if (words !== undefined && allow === undefined) {
    const found = words.length === 0 ? 'an empty array' : 'an array that repeats a right'
    return problem('invalid_parameter', { name: 'allow', found, allowed: `some of ${rights.join(', ')}, each once,` })
  }
  const under: Path[] = []
  for (const [index, text] of texts.entries()) {
    const path = parsePath(text)
    if (typeof path !== 'string') return problem('invalid_path', { name: `under[${index}]`, problem: path.problem })
    under.push(path)
  }
  const expiresMs = expires === undefined ? undefined : parseExpiry(expires)
  if (typeof expiresMs === 'object') return problem('invalid_time', { name: 'expires', ...expiresMs })
  return { op: 'create', name, allow, under, expiresMs, rate }
}
