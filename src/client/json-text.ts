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
  const texts: string[] = []
  for (const [name, member] of Object.entries(members)) {
    if (member === undefined && name !== 'value') continue
    texts.push(`${JSON.stringify(name)}:${memberText(name, member, within + name)}`)
  }
  return `{${texts.join(',')}}`
}

/** Only these two members contain other bodies' members, of which `value` must be there. */
function memberText(name: string, member: unknown, where: string): string {
  if (name === 'constraint') return innerText(member, where)
  if (name === 'operations' && Array.isArray(member))
    return `[${member.map((operation, index) => innerText(operation, `${where}[${index}]`)).join(',')}]`
  return new ValueWriter(where).write(plain(member, ''))
}

/** The service refuses what is not an object. */
function innerText(member: unknown, where: string): string {
  const hasMembers = typeof member === 'object' && member !== null && !Array.isArray(member)
  return hasMembers ? bodyText(member, `${where}.`) : new ValueWriter(where).write(plain(member, ''))
}

class ValueWriter {
  readonly #name: string
  /** The name or index of each part that contains the current one, and of the current one. */
  readonly #place: (string | number)[] = []
  /** The objects and arrays that contain the current part, each with the length of the place where it is. */
  readonly #open = new Map<object, number>()

  constructor(name: string) {
    this.#name = name
  }

  /** @param value as `plain` returns it */
  write(value: unknown): string {
    if (value instanceof JsonText) return value.text
    switch (typeof value) {
      case 'object':
        return value === null ? 'null' : this.#nested(value)
      case 'number':
        return Number.isFinite(value) ? JSON.stringify(value) : this.#refuse(String(value))
      case 'bigint':
        return String(value)
      case 'undefined':
        return this.#refuse('undefined')
      case 'function':
      case 'symbol':
        return this.#refuse(`a ${typeof value}`)
      default:
        return JSON.stringify(value)
    }
  }

  #nested(value: object): string {
    const open = this.#open.get(value)
    if (open !== undefined) return this.#refuse(`${this.#where(open)} again`)
    this.#open.set(value, this.#place.length)
    const text = Array.isArray(value) ? this.#elements(value) : this.#members(value)
    this.#open.delete(value)
    return text
  }

  #elements(value: readonly unknown[]): string {
    // Not `map`, which skips holes.
    const texts = Array.from(value, (element, index) => this.#part(index, plain(element, String(index))))
    return `[${texts.join(',')}]`
  }

  #members(value: object): string {
    const texts: string[] = []
    for (const [name, member] of Object.entries(value)) {
      const written = plain(member, name)
      if (written === undefined) continue
      texts.push(`${JSON.stringify(name)}:${this.#part(name, written)}`)
    }
    return `{${texts.join(',')}}`
  }

  #part(step: string | number, value: unknown): string {
    this.#place.push(step)
    const text = this.write(value)
    this.#place.pop()
    return text
  }

  #refuse(what: string): never {
    throw new TypeError(`${this.#where()} is ${what}, which JSON cannot hold`)
  }

  /** @param depth of how many steps; all of them by default */
  #where(depth?: number): string {
    const steps = this.#place.slice(0, depth).map((step) => {
      const isName = typeof step === 'string' && /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(step)
      return isName ? `.${step}` : `[${JSON.stringify(step)}]`
    })
    return this.#name + steps.join('')
  }
}

/** As JSON.stringify would write it: the result of `toJSON`, and primitives without their box. */
function plain(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || value instanceof JsonText) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  const written: unknown = typeof toJSON === 'function' ? Reflect.apply(toJSON, value, [name]) : value
  return isBoxed(written) ? written.valueOf() : written
}

function isBoxed(value: unknown): value is object {
  return value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt
}
