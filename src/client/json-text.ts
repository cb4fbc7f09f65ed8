/**
 * Values as they are sent: the texts that JSON.stringify would write, except that nothing is lost in silence: integers
 * keep every digit, a JSON text is sent verbatim, and what JSON cannot hold is refused by its place. Nothing is sent
 * from here.
 */

/** Stands for a value or a part of one; created by `jsonText`. */
export class JsonText {
  constructor(readonly text: string) {}

  /** JSON.stringify cannot write a text verbatim. */
  toJSON(): never {
    throw new TypeError('a JSON text can be sent, but not written by JSON.stringify')
  }
}

/** Sent verbatim wherever a value can be given: `jsonText('1.10')` keeps its 0. @throws SyntaxError if not JSON */
export function jsonText(text: string): JsonText {
  JSON.parse(text)
  return new JsonText(text)
}

/**
 * A request body. Members that are undefined are left out.
 *
 * @param within what the names of these members follow in an error, such as `constraint.`
 * @throws TypeError for a value, or a part of one, that JSON cannot hold; the message says where it is
 */
export function bodyText(members: object, within = ''): string {
  const sent = Object.entries(members).filter(([name, member]) => member !== undefined || name === 'value')
  return objectText(sent, (name, member) => memberText(name, member, within + name))
}

/** Only these two members contain other bodies' members, of which `value` must be there. */
function memberText(name: string, member: unknown, where: string): string {
  if (name === 'constraint') return innerText(member, where)
  if (name === 'operations' && Array.isArray(member))
    return `[${member.map((operation, index) => innerText(operation, `${where}[${index}]`)).join(',')}]`
  return valueText(plain(member, ''), { step: where })
}

/** The service refuses what is not an object. */
function innerText(member: unknown, where: string): string {
  const hasMembers = typeof member === 'object' && member !== null && !Array.isArray(member)
  return hasMembers ? bodyText(member, `${where}.`) : valueText(plain(member, ''), { step: where })
}

/** Where a value is. */
interface Place {
  /** Its name or index in the object or array that contains it. */
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

/** As a program would write it, such as `value.readings[3]`. */
function nameOf({ step, within }: Place): string {
  if (within === undefined) return String(step)
  const isName = typeof step === 'string' && /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(step)
  return nameOf(within.place) + (isName ? `.${step}` : `[${JSON.stringify(step)}]`)
}

/** As JSON.stringify would write it: the result of `toJSON`, and primitives without their box. */
function plain(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || value instanceof JsonText) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  const written: unknown = typeof toJSON === 'function' ? Reflect.apply(toJSON, value, [name]) : value
  const isBoxed = [Number, String, Boolean, BigInt].some((box) => written instanceof box)
  return isBoxed ? (written as object).valueOf() : written
}
