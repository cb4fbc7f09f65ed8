/**
 * Invalid JSON is rejected with the position of its first wrong byte, counted from 1, the text found there and the expected
 * text, in words that do not depend on the version of Node.
 */
import t from 'tap'
import { JsonReader } from '../../dist/json/reader.js'
import { treeOf } from '../support/json-tree.js'
import { mutated } from '../support/models/json-texts.js'
import { seededRandom } from '../support/random.js'

/** The problem of a text, which must be the same whether its value is read or skipped; undefined if it is JSON. */
function problemOf(text: string): string | undefined {
  const [read, passed] = [new JsonReader(Buffer.from(text), 1000), new JsonReader(Buffer.from(text), 1000)]
  treeOf(read)
  passed.skip()
  const problem = read.problem()
  if (passed.problem() !== problem) t.fail(`${JSON.stringify(text)}: ${problem}, and ${passed.problem()} if skipped`)
  return problem
}

/** The byte number in the message. */
function byteOf(text: string): number | undefined {
  const found = /^found .+ at byte (\d+), expected .+$/s.exec(problemOf(text) ?? '')
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
  ['{"a":1', 'found the end at byte 7, expected "," or "}"'],
  ['{"a":"bc', 'found the end at byte 9, expected the closing quote of the string that starts at byte 6'],
  ['{"a":tru', 'found the end at byte 9, expected the rest of "true"'],
  ['{"a":-', 'found the end at byte 7, expected a digit'],
  ['\ufeff{}', 'found a byte order mark (U+FEFF) at byte 1, expected a value'],
  ['{"a":NaN}', 'found "NaN" at byte 6, expected a value'],
  ['{"a":nul}', 'found "}" at byte 9, expected the rest of "null"'],
  ["{'a':1}", 'found "\'" at byte 2, expected a member name in double quotes or "}"'],
  ['{a:1}', 'found "a" at byte 2, expected a member name in double quotes or "}"'],
  ['{"a":1,}', 'found "}" at byte 8, expected a member name in double quotes'],
  ['{"a":[1,]}', 'found "]" at byte 9, expected a value'],
  ['{"a":[,1]}', 'found "," at byte 7, expected a value or "]"'],
  ['{"a":[1}', 'found "}" at byte 8, expected "," or "]"'],
  ['{"a" 1}', 'found "1" at byte 6, expected ":"'],
  ['{"a":1}}', 'found "}" at byte 8, expected the end'],
  ['path=a', 'found "path" at byte 1, expected a value'],
  ['{"a":\u201cb\u201d}', 'found "\u201c" (U+201C) at byte 6, expected a value'],
  ['{"é":1,x}', 'found "x" at byte 9, expected a member name in double quotes'],
  ['{"a":"b\nc"}', 'found the control character U+000A at byte 8, expected an escape such as \\n or \\u0000 instead'],
  ['{"a":\v1}', 'found the control character U+000B at byte 6, expected a value'],
  ['{"a":"\\x41"}', 'found "x41" at byte 8, expected one of " \\ / b f n r t u after the backslash'],
  ['{"a":"\\u12g4"}', 'found "g4" at byte 11, expected a hexadecimal digit'],
  ['{"a":"\\', 'found the end at byte 8, expected one of " \\ / b f n r t u after the backslash'],
  ['{"a":01}', 'found "1" at byte 7, expected "," or "}"'],
  ['{"a":.5}', 'found "." at byte 6, expected a value'],
  ['{"a":1.}', 'found "}" at byte 8, expected a digit'],
  ['{"a":0x10}', 'found "x10" at byte 7, expected "," or "}"'],
  ['{"a":1} // note', 'found "/" at byte 9, expected the end'],
]

t.test('each mistake is reported with its position, the text there and the expected text', async (t) => {
  for (const [body, problem] of problems) t.equal(problemOf(body), problem, JSON.stringify(body))
})

/** Possible completions of the last token of an unfinished text, before its open brackets are closed. */
const inners = ['', ...'0 " ":0 :0 "":0 "":0} 0" 00" 000" 0000" n" "0 ull ll l rue ue e alse lse se'.split(' ')]
const ends = [...inners, ...['0', '00', '000', '0000', 'n'].map((rest) => `${rest}":0`)]

/** Whether any ending makes `start` valid JSON: tries all of them, independently of how the byte was found. */
function canBecomeJson(start: string): boolean {
  let closers = ''
  for (const [token] of start.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (token === '[') closers = `]${closers}`
    else if (token === '{') closers = `}${closers}`
    else if (token === ']' || token === '}') closers = closers.slice(1)
  }
  return ends.some((end) => isJson(start + end + closers))
}

t.test('the reported byte is the first at which no valid JSON can continue', async (t) => {
  const random = seededRandom(t)
  let checked = 0
  for (let round = 0; round < 1500; round++) {
    const text = mutated(random)
    const byte = byteOf(text)
    if (byte === undefined) {
      if (!isJson(text)) t.fail(`${JSON.stringify(text)}: no byte`)
      continue
    }
    checked++
    const bytes = Buffer.from(text)
    const before = bytes.subarray(0, byte - 1).toString()
    const [wrong = ''] = bytes.subarray(byte - 1).toString()
    if (!canBecomeJson(before)) t.fail(`${JSON.stringify(text)}: already wrong before byte ${byte}`)
    if (wrong !== '' && canBecomeJson(before + wrong)) t.fail(`${JSON.stringify(text)}: right at byte ${byte}`)
    if (wrong === '' && isJson(before)) t.fail(`${JSON.stringify(text)}: right at the end`)
  }
  t.ok(checked > 150, `${checked} texts were checked`)
})
