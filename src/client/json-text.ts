/**
 * Values as they are sent: serialised by JSON.stringify, or texts that are sent verbatim. Nothing is sent from here.
 */

/** A JSON text in place of a value, made by `jsonText`. */
export class JsonText {
  constructor(readonly text: string) {}

  /** Only a whole value can be a text; a part of one would become an object. */
  toJSON(): never {
    throw new TypeError('a JSON text can replace a whole value, not a part of one')
  }
}

/**
 * A JSON text that is sent verbatim wherever a value can be given: `jsonText('1.10')` keeps the last digit.
 *
 * @throws SyntaxError for a text that is not JSON
 */
export function jsonText(text: string): JsonText {
  JSON.parse(text)
  return new JsonText(text)
}

/**
 * A request body. Members that are undefined are left out.
 *
 * @throws TypeError for a value that has no JSON text, such as undefined
 */
export function bodyText(members: object): string {
  const texts: string[] = []
  for (const [name, member] of Object.entries(members)) {
    if (member !== undefined || name === 'value') texts.push(`${JSON.stringify(name)}:${memberText(name, member)}`)
  }
  return `{${texts.join(',')}}`
}

/** The members that contain values are the same in every route. */
function memberText(name: string, member: unknown): string {
  if (name === 'value') return valueText(member)
  if (name === 'constraint' && typeof member === 'object' && member !== null) return bodyText(member)
  if (name === 'operations' && Array.isArray(member)) return `[${member.map(bodyText).join(',')}]`
  return JSON.stringify(member)
}

function valueText(value: unknown): string {
  if (value instanceof JsonText) return value.text
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`a value of type ${typeof value} has no JSON text`)
  return text
}
