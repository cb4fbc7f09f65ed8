/**
 * Encodes requests like JSON.stringify, except that nothing is lost silently. Integers keep every digit, a JsonText is
 * sent verbatim, and a value that JSON cannot hold causes an error that names its place. Nothing is sent from here.
 */

/** JSON text in place of a value, or of part of a value. Create it with `jsonText`. */
export class JsonText {
  constructor(readonly text: string) {}

  /** Throws, because JSON.stringify cannot write text verbatim. */
  toJSON(): never {
    throw new TypeError('JSON.stringify cannot write a JsonText; pass it to a method of the client')
  }
}

/** A value to send verbatim: `jsonText('1.10')` keeps its last 0. @throws SyntaxError if the text is not JSON */
export function jsonText(text: string): JsonText {
  JSON.parse(text)
  return new JsonText(text)
}

/**
 * The JSON text of a request body. Omits undefined members, but throws for an undefined `value`.
 *
 * @param within prefix of the members' names in an error, such as `constraint.`
 * @throws TypeError if JSON cannot hold a value or part of it; the message names the place
 */
export function bodyText(members: object, within = ''): string {
  const sent = Object.entries(members).filter(([name, member]) => member !== undefined || name === 'value')
  return objectText(sent, (name, member) => memberText(name, member, within + name))
}

/** Only `constraint` and `operations` contain nested bodies, in which an undefined `value` is an error. */
function memberText(name: string, member: unknown, where: string): string {
  if (name === 'constraint') return innerText(member, where)
  if (name === 'operations' && Array.isArray(member))
    return `[${member.map((operation, index) => innerText(operation, `${where}[${index}]`)).join(',')}]`
  return valueText(plain(member, ''), { step: where })
}

/** Also accepts a non-object, which the service rejects. */
function innerText(member: unknown, where: string): string {
  const hasMembers = typeof member === 'object' && member !== null && !Array.isArray(member)
  return hasMembers ? bodyText(member, `${where}.`) : valueText(plain(member, ''), { step: where })
}

/** The place of a value within a body. */
interface Place {
  /** The value's name or index in the object or array that contains it. */
  readonly step: string | number
  /** Undefined for a member of the body. */
  readonly within?: { readonly place: Place; readonly value: object }
}

/** @param value as `plain` returns it */
function valueText(value: unknown, place: Place): string {
  if (value instanceof JsonText) return value.text
  switch (typeof value) {
    case 'object':
      return value === null ? 'null' : nestedText(value, place)
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : refuse(String(value), place)
    case 'bigint':
      return String(value)
    case 'undefined':
      return refuse('undefined', place)
    case 'function':
    case 'symbol':
      return refuse(`a ${typeof value}`, place)
    default:
      return JSON.stringify(value)
  }
}

function nestedText(value: object, place: Place): string {
  for (let outer = place.within; outer !== undefined; outer = outer.place.within)
    if (outer.value === value) refuse(`${nameOf(outer.place)} again`, place)
  const partText = (step: string | number, part: unknown) => valueText(part, { step, within: { place, value } })
  // Not `map`, which skips holes.
  if (Array.isArray(value))
    return `[${Array.from(value, (part, index) => partText(index, plain(part, String(index)))).join(',')}]`
  const parts = Object.entries(value).map(([name, part]) => [name, plain(part, name)] as const)
  return objectText(
    parts.filter(([, part]) => part !== undefined),
    partText,
  )
}

function objectText<Part>(
  parts: readonly (readonly [string, Part])[],
  partText: (name: string, part: Part) => string,
): string {
  return `{${parts.map(([name, part]) => `${JSON.stringify(name)}:${partText(name, part)}`).join(',')}}`
}

function refuse(what: string, place: Place): never {
  throw new TypeError(`${nameOf(place)} is ${what}, which JSON cannot hold`)
}

/** The place as JavaScript source, such as `value.readings[3]`. */
function nameOf({ step, within }: Place): string {
  if (within === undefined) return String(step)
  const isName = typeof step === 'string' && /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(step)
  return nameOf(within.place) + (isName ? `.${step}` : `[${JSON.stringify(step)}]`)
}

/** Converts a value as JSON.stringify does: calls `toJSON` and unboxes primitives. */
function plain(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || value instanceof JsonText) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  const written: unknown = typeof toJSON === 'function' ? Reflect.apply(toJSON, value, [name]) : value
  const isBoxed = [Number, String, Boolean, BigInt].some((box) => written instanceof box)
  return isBoxed ? (written as object).valueOf() : written
}
