/**
 * Random bodies in which nothing is wrong: the service must carry them out, or refuse them for what it has stored.
 */
import type { Random } from '../random.js'

export const operations = ['set', 'add', 'addAndSet', 'remove'] as const
export const routes = ['fetch', 'batch', ...operations] as const
export type Route = (typeof routes)[number]

/** Text that services get wrong. */
export function oddText(random: Random): string {
  const pieces = [
    'a',
    'fuzz',
    '/',
    '//',
    '\u0000',
    'é',
    '\ud800',
    '😀',
    '"',
    '\\',
    '.',
    '*',
    '?',
    ' ',
    'x'.repeat(3000),
  ]
  return Array.from({ length: random.below(6) }, () => random.pick(pieces)).join('')
}

/** A JSON text of any kind. */
function json(random: Random, depth = 0): string {
  const members = (): number => random.below(depth > 4 ? 1 : 4)
  switch (random.below(6)) {
    case 0:
      return random.pick(['null', 'true', 'false'])
    case 1:
      return random.pick(['0', '-0', '1e400', '1.10', '12345678901234567890', '-1E-7'])
    case 2:
      return JSON.stringify(oddText(random))
    case 3: {
      const levels = 1 + random.below(random.oneIn(5) ? 1000 : 5)
      return depth > 0 ? '[]' : '['.repeat(levels) + ']'.repeat(levels)
    }
    case 4:
      return `[ ${Array.from({ length: members() }, () => json(random, depth + 1)).join(' ,\t')}]`
    default:
      return `{${Array.from({ length: members() }, () => `${JSON.stringify(oddText(random))}:${json(random, depth + 1)}`).join(',\n')}}`
  }
}

function path(random: Random): string {
  return JSON.stringify(`${random.pick(['', '/'])}${random.pick(['fuzz', 'fuzz/é', 'a'])}/${random.below(20)}`)
}

/** One that holds for some topics that are written here. */
function constraint(random: Random): string {
  return random.pick([
    '{"no_topic":true}',
    '{"no_value":true}',
    '{"value":5}',
    `{"value":${json(random)}}`,
    `{"version":${random.pick(['0', '1838629115005952', '9007199254740991'])}}`,
  ])
}

/** Type and value of a topic. */
function typed(random: Random): readonly string[] {
  if (random.oneIn(5)) return ['"type":"string"', `"value":${JSON.stringify(oddText(random))}`]
  return [random.pick(['"type":"json"', '']), `"value":${random.oneIn(5) ? '5' : json(random)}`]
}

function properties(random: Random): string {
  return random.pick([
    '{}',
    '{"REMOVAL":"when no updates for 1d"}',
    '{"DONT_RETAIN_VALUE":"true"}',
    `{"note":${JSON.stringify(oddText(random).toWellFormed())}}`,
  ])
}

/** What each fetch may have. */
function shown(random: Random): readonly string[] {
  return [
    random.pick(['', '"type":"any"', '"type":"string"', '"type":"json"']),
    random.pick(['', '"with_values":false', '"with_values":true']),
    random.pick(['', '"with_properties":true']),
    random.pick(['', '"with_version":true', '"with_version":false']),
  ]
}

function fetchMembers(random: Random): readonly string[] {
  if (random.oneIn(6)) {
    const paths = Array.from({ length: 1 + random.below(random.oneIn(5) ? 1000 : 5) }, () => path(random))
    return [`"paths":[${paths.join(',')}]`, ...shown(random)]
  }
  if (random.oneIn(2)) return [`"path":${path(random)}`, ...shown(random)]
  return [
    `"selector":${random.pick(['"?.*//"', '"*fuzz//"', '"#a////?fuzz/"', '">a/1"', '"?(a+)+b//"', '"*fuzz/"'])}`,
    ...shown(random),
    random.pick(['', '"size":1', '"size":1000', '"size":1e1']),
    random.pick(['', `"after":${path(random)}`]),
    random.pick(['', '"deep_branch_depth":2,"deep_branch_limit":1']),
  ]
}

function removeMembers(random: Random): readonly string[] {
  if (random.oneIn(4)) return [`"selector":"?fuzz/1.?//"`, random.pick(['', '"dry_run":true'])]
  return [`"path":${path(random)}`, random.pick(['', '', `"constraint":${constraint(random)}`])]
}

/** The members that a body of the route has, in any number. */
function membersFor(random: Random, route: Exclude<Route, 'batch'>): readonly string[] {
  const constrained = random.oneIn(5) ? `"constraint":${constraint(random)}` : ''
  switch (route) {
    case 'fetch':
      return fetchMembers(random)
    case 'set': {
      const increment = `"increment":${random.pick(['1', '-0.5', '1e3', '9'.repeat(1000)])}`
      return [`"path":${path(random)}`, ...(random.oneIn(4) ? [increment] : typed(random)), constrained]
    }
    case 'add':
      return [`"path":${path(random)}`, random.pick(['', `"properties":${properties(random)}`]), constrained]
    case 'addAndSet':
      return [
        `"path":${path(random)}`,
        ...typed(random),
        random.pick(['', '', `"properties":${properties(random)}`]),
        constrained,
      ]
    case 'remove':
      return removeMembers(random)
  }
}

function object(members: readonly string[]): string {
  return `{${members.filter((member) => member !== '').join(',')}}`
}

/** A body that the route's description allows. */
export function validBody(random: Random, route: Route): string {
  if (route !== 'batch') return object(membersFor(random, route))
  const all = Array.from({ length: 1 + random.below(5) }, () => {
    const op = random.pick([...operations, 'addAndSet'] as const)
    const members = membersFor(random, op)
    // A batch removes by path only.
    const isAllowed = !members.some((member) => member.startsWith('"selector"'))
    return object([`"op":"${op}"`, ...(isAllowed ? members : [`"path":${path(random)}`])])
  })
  return object([`"operations":[${all.join(',')}]`, random.pick(['', '', '"atomic":true', '"atomic":false'])])
}
