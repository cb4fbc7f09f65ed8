/**
 * Invalid JSON is refused with the position of its first wrong byte, counted from 1, what was found there and what was
 * expected, in words that do not depend on the version of Node.
 */
import t from 'tap'
import { repeatedName } from '../../dist/api/members.js'
import { parseBody } from '../../dist/api/parse-body.js'
import { isProblem } from '../../dist/api/problems.js'
import { type Random, seededRandom } from '../support/random.js'

/** The message that refuses a body as invalid JSON; undefined if there is none. */
function problemOf(body: string | Uint8Array): string | undefined {
  const accept = { validate: (input: unknown) => ({ success: true, data: input }) as const, names: [] }
  const parsed = parseBody(Buffer.from(body as string), accept)
  if (!isProblem(parsed) || parsed.code !== 'invalid_json') return undefined
  return parsed.message
}

/** The byte that the message names. */
function byteOf(body: string): number | undefined {
  const found = /^The request body is not valid JSON: found .+ at byte (\d+), expected .+\.$/s.exec(
    problemOf(body) ?? '',
  )
  return found === null ? undefined : Number(found[1])
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const problems: readonly (readonly [body: string, problem: string])[] = [
  ['', 'found the end at byte 1, expected a value'],
  [' \n', 'found the end at byte 3, expected a value'],
  ['{', 'found the end at byte 2, expected a member name in double quotes or "}"'],
  ['{"a"', 'found the end at byte 5, expected ":"'],
  ['{"a":', 'found the end at byte 6, expected a value'],
  ['{"a":1', 'found the end at byte 7, expected "," or "}"'],
  ['{"a":[1', 'found the end at byte 8, expected "," or "]"'],
  ['{"a":"bc', 'found the end at byte 9, expected the closing quote of the string that begins at byte 6'],
  ['{"a":tru', 'found the end at byte 9, expected the rest of "true"'],
  ['{"a":-', 'found the end at byte 7, expected a digit'],
  ['\ufeff{}', 'found a byte order mark (U+FEFF) at byte 1, expected a value'],
  ['{"a":NaN}', 'found "NaN" at byte 6, expected a value'],
  ['{"a":Infinity}', 'found "Infinity" at byte 6, expected a value'],
  ['{"a":undefined}', 'found "undefined" at byte 6, expected a value'],
  ['{"a":True}', 'found "True" at byte 6, expected a value'],
  ['{"a":nul}', 'found "}" at byte 9, expected the rest of "null"'],
  ['{"a":nullx}', 'found "x" at byte 10, expected "," or "}"'],
  ["{'a':1}", 'found "\'" at byte 2, expected a member name in double quotes or "}"'],
  ['{"a":\'b\'}', 'found "\'" at byte 6, expected a value'],
  ['{a:1}', 'found "a" at byte 2, expected a member name in double quotes or "}"'],
  ['{"a":1,}', 'found "}" at byte 8, expected a member name in double quotes'],
  ['{"a":1,,"b":2}', 'found "," at byte 8, expected a member name in double quotes'],
  ['{,"a":1}', 'found "," at byte 2, expected a member name in double quotes or "}"'],
  ['{"a":[1,]}', 'found "]" at byte 9, expected a value'],
  ['{"a":[,1]}', 'found "," at byte 7, expected a value or "]"'],
  ['{"a":[1}', 'found "}" at byte 8, expected "," or "]"'],
  ['{"a":1]', 'found "]" at byte 7, expected "," or "}"'],
  ['{"a" 1}', 'found "1" at byte 6, expected ":"'],
  ['{"a":1}}', 'found "}" at byte 8, expected the end'],
  ['{"a":1} {"b":2}', 'found "{" at byte 9, expected the end'],
  ['}', 'found "}" at byte 1, expected a value'],
  ['path=a', 'found "path" at byte 1, expected a value'],
  ['<a/>', 'found "<" at byte 1, expected a value'],
  ['{"a":\u201cb\u201d}', 'found "\u201c" (U+201C) at byte 6, expected a value'],
  ['{"é":1,x}', 'found "x" at byte 9, expected a member name in double quotes'],
  [
    '{"a":"b\nc"}',
    'found the control character U+000A at byte 8, expected an escape such as \\n or \\u0000 in its place',
  ],
  [
    '{"a":"\0"}',
    'found the control character U+0000 at byte 7, expected an escape such as \\n or \\u0000 in its place',
  ],
  ['{"a":\v1}', 'found the control character U+000B at byte 6, expected a value'],
  ['{"a":"\\x41"}', 'found "x41" at byte 8, expected one of " \\ / b f n r t u after the backslash'],
  ['{"a":"\\u12g4"}', 'found "g4" at byte 11, expected a hexadecimal digit'],
  ['{"a":"\\', 'found the end at byte 8, expected one of " \\ / b f n r t u after the backslash'],
  ['{"a":01}', 'found "1" at byte 7, expected "," or "}"'],
  ['{"a":.5}', 'found "." at byte 6, expected a value'],
  ['{"a":+1}', 'found "+" at byte 6, expected a value'],
  ['{"a":1.}', 'found "}" at byte 8, expected a digit'],
  ['{"a":1e}', 'found "}" at byte 8, expected a digit'],
  ['{"a":-a}', 'found "a" at byte 7, expected a digit'],
  ['{"a":0x10}', 'found "x10" at byte 7, expected "," or "}"'],
  ['{"a":1} // note', 'found "/" at byte 9, expected the end'],
]

t.test('each mistake is reported with its byte, what was found there and what was expected', async (t) => {
  for (const [body, problem] of problems) {
    t.equal(problemOf(body), `The request body is not valid JSON: ${problem}.`, JSON.stringify(body))
  }
})

/** Texts that the mutations change. */
const valid: readonly string[] = [
  '{}',
  '{"path":"a/b","value":[1,2.5,-0,1e400,{"x":null}],"type":"json"}',
  '{"a":"\\u00e9\\n\\"\\\\","b":[[],{},[{}]]}',
  ' {\t"a" :\r\n true , "b" : false } ',
  '{"é😀":"日本","":[0.1E-5,10]}',
  '{"properties":{"a":"b","c":"d"},"size":10.0}',
]
/** What a mutation inserts. */
const pieces = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '0',
  '1',
  '-',
  '+',
  '.',
  'e',
  'E',
  'u',
  'n',
  'null',
  'tru',
  ' ',
  '\n',
  '\t',
  '\u0001',
  '\ufeff',
  'é',
  '\u2028',
  "'",
  '/',
  '//',
  '\u007f',
  '\u00a0',
  '00',
  '\\u',
  '\\u00',
  '"a":',
  '[]',
]

function mutated(text: string, { below, pick }: Random): string {
  let mutant = text
  for (let count = 1 + below(3); count > 0; count--) {
    const at = below(mutant.length + 1)
    const insert = below(3) === 0 ? '' : pick(pieces)
    mutant = mutant.slice(0, at) + insert + mutant.slice(at + below(3))
  }
  if (below(10) === 0) mutant = mutant.slice(0, below(mutant.length + 1))
  return mutant.toWellFormed()
}

t.test('a body is refused as invalid JSON exactly when JSON.parse refuses it', async (t) => {
  const random = seededRandom(t)
  let invalid = 0
  const rounds = 60_000
  for (let round = 0; round < rounds; round++) {
    const text = mutated(random.pick(valid), random)
    const problem = problemOf(text)
    if (problem !== undefined) invalid++
    if ((problem === undefined) !== isJson(text)) t.fail(`${JSON.stringify(text)}: ${problem}`)
  }
  t.ok(invalid > rounds / 10 && invalid < rounds * 0.99, `${invalid} of ${rounds} were invalid`)
})

/** What may complete the last token of a text that breaks off, before its open brackets are closed. */
const inners = [
  '',
  '0',
  '"',
  '":0',
  ':0',
  '"":0',
  '"":0}',
  '0"',
  '00"',
  '000"',
  '0000"',
  'n"',
  '"0',
  'ull',
  'll',
  'l',
  'rue',
  'ue',
  'e',
  'alse',
  'lse',
  'se',
]
const ends = [...inners, ...['0', '00', '000', '0000', 'n'].map((rest) => `${rest}":0`)]

/** Whether some end makes `start` valid JSON: tries all of them, independently of how the byte was found. */
function canBecomeJson(start: string): boolean {
  let closers = ''
  for (const [token] of start.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (token === '[') closers = `]${closers}`
    else if (token === '{') closers = `}${closers}`
    else if (token === ']' || token === '}') closers = closers.slice(1)
  }
  return ends.some((end) => isJson(start + end + closers))
}

t.test('the text before the named byte can be completed to valid JSON, and with that byte it cannot', async (t) => {
  const random = seededRandom(t)
  let checked = 0
  for (let round = 0; round < 3000; round++) {
    const text = mutated(random.pick(valid), random)
    const byte = byteOf(text)
    if (byte === undefined) {
      if (!isJson(text)) t.fail(`${JSON.stringify(text)}: no byte`)
      continue
    }
    checked++
    const before = Buffer.from(text)
      .subarray(0, byte - 1)
      .toString()
    const [wrong = ''] = Buffer.from(text)
      .subarray(byte - 1)
      .toString()
    if (!canBecomeJson(before)) t.fail(`${JSON.stringify(text)}: already wrong before byte ${byte}`)
    if (wrong !== '' && canBecomeJson(before + wrong)) t.fail(`${JSON.stringify(text)}: right at byte ${byte}`)
    if (wrong === '' && isJson(before)) t.fail(`${JSON.stringify(text)}: right at the end`)
  }
  t.ok(checked > 300, `${checked} texts were checked`)
})

t.test('the first name that repeats an earlier one is reported, however it is escaped', async (t) => {
  const repeated = [
    ['"\\u0061":1,"a":2', 'a'],
    ['"é":1,"\\u00e9":2', 'é'],
    ['"a":1,"b":2,"b":3,"a":4', 'b'],
    ['"\\"":1,"\\u0022":2', '"'],
  ] as const
  for (const [text, name] of repeated) t.equal(repeatedName(Buffer.from(`{${text}}`)), name, text)
  t.equal(repeatedName(Buffer.from('{"a":1,"A":2,"é":3,"e":4,"":5}')), undefined, 'different names')
})
