/**
 * Bodies for every route: real ones, which are the examples of the API description, random ones in which nothing is
 * wrong, and random ones that have something wrong, most of them.
 */
import { type Example, examples } from '../../../dist/api/openapi/openapi-examples.js'
import type { Random } from '../random.js'
import { oddText, operations, type Route, validBody } from './valid-bodies.js'

const selectors = [
  '?.*//',
  '*fuzz//',
  '#a////?b/',
  '>a',
  '?(a+)+b',
  '*[',
  '#',
  '$',
  '?a{1000}',
  '?\\Q',
  '',
  '*\\p{L}//',
]
const properties = [
  {},
  { REMOVAL: 'when time after 1' },
  { VALIDATE_VALUES: 'x' },
  { DONT_RETAIN_VALUE: 'true' },
  { '': '' },
  5,
]

/** A JSON text, valid or nearly so. */
function json(random: Random, depth = 0): string {
  switch (random.below(depth > 4 ? 7 : 10)) {
    case 0:
      return 'null'
    case 1:
      return random.pick(['true', 'false', 'tru', 'NaN', 'undefined'])
    case 2:
      return random.pick(['0', '-0', '1e400', '1.10', '12345678901234567890', '01', '+1', '.5', '1e', '-'])
    case 3:
      return JSON.stringify(oddText(random))
    case 4:
      return random.pick(['"', '"\\', '"\\u12', '"\u0001"', '"\\ud800"'])
    case 5:
      return '['.repeat(random.below(3000)) + ']'.repeat(random.below(3000))
    case 6:
      return ''
    case 7:
      return `[${Array.from({ length: random.below(4) }, () => json(random, depth + 1)).join(',')}]`
    default:
      return `{${Array.from({ length: random.below(4) }, () => `${JSON.stringify(oddText(random))}:${json(random, depth + 1)}`).join(',')}}`
  }
}

/** The members of each route's body. */
const membersOf: Readonly<Record<Route, readonly string[]>> = {
  fetch: [
    'path',
    'selector',
    'type',
    'size',
    'after',
    'deep_branch_depth',
    'deep_branch_limit',
    'with_values',
    'with_properties',
    'with_version',
  ],
  set: ['path', 'value', 'type', 'constraint'],
  add: ['path', 'type', 'properties'],
  addAndSet: ['path', 'value', 'type', 'properties', 'constraint'],
  remove: ['path', 'selector', 'dry_run', 'constraint'],
  batch: ['operations'],
}

function member(random: Random, name: string): string {
  if (random.oneIn(15)) return json(random)
  switch (name) {
    case 'path':
      return JSON.stringify(random.oneIn(4) ? oddText(random) : `fuzz/${random.below(20)}`)
    case 'selector':
      return JSON.stringify(random.oneIn(3) ? oddText(random) : random.pick(selectors))
    case 'type':
      return random.pick(['"json"', '"json"', '"string"', '"other"'])
    case 'properties':
      return JSON.stringify(random.pick(properties))
    case 'dry_run':
    case 'with_values':
    case 'with_properties':
    case 'with_version':
      return random.pick(['true', 'false', '1'])
    case 'deep_branch_depth':
    case 'deep_branch_limit':
    case 'size':
      return random.pick(['0', '1', '1000', '1001', '1.5', '-1', '1e3', '"1"'])
    case 'constraint':
      return random.pick([
        '{"value":"5"}',
        '{"no_topic":true}',
        '{}',
        '{"value":1,"no_topic":false}',
        'null',
        '{"version":1838629115005952}',
        '{"version":1,"version":1}',
        `{"version":${random.pick(['1.0', '-1', '1e3', '9007199254740992', '"1"', 'null', '01'])}}`,
      ])
    case 'operations':
      return `[${Array.from({ length: random.below(5) }, () => operation(random)).join(',')}]`
    case 'after':
      return JSON.stringify(oddText(random))
    default:
      return random.oneIn(2) ? `"${random.below(100)}"` : json(random)
  }
}

/** A body, and whether the routes' description allows every member of it. */
export interface HostileBody {
  readonly text: string
  /** False if it is not known. */
  readonly isValid: boolean
}

export function bodyFor(random: Random, route: Route): HostileBody {
  if (random.oneIn(15)) return { text: json(random), isValid: false }
  if (random.oneIn(5)) return { text: JSON.stringify(random.pick<Example>(examples[route]).request), isValid: true }
  if (random.oneIn(2)) return { text: validBody(random, route), isValid: true }
  return { text: doubtfulBody(random, route), isValid: false }
}

/** A body with members of the route, sometimes with something wrong. */
function doubtfulBody(random: Random, route: Route): string {
  const names = membersOf[route].filter((name) => {
    if (name === 'path') return !random.oneIn(5)
    return name === 'value' ? !random.oneIn(20) : random.oneIn(4)
  })
  if (random.oneIn(20)) names.push(random.pick([...names, 'sizes', oddText(random)]))
  return `{${names.map((name) => `${JSON.stringify(name)}:${member(random, name)}`).join(',')}}`
}

/** An operation of a batch, seldom with something wrong: the body of another route, and its name. */
function operation(random: Random): string {
  const op = random.pick(operations)
  const members = random.oneIn(4) ? doubtfulBody(random, op) : validBody(random, op)
  return random.oneIn(10) ? members : members.replace('{', `{"op":"${op}"${members.startsWith('{}') ? '' : ','}`)
}
