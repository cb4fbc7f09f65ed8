/** A function fits on a screen: counted from its first line to its closing brace, as the formatter lays it out. */
import t from 'tap'
import ts from 'typescript'
import { parse, type Source, sourcesOf } from '../support/sources.js'

const linesMax = 70

/** The functions of a file that have more than `linesMax` lines, each with its location and length. */
function longFunctions({ path, parsed }: Source): string[] {
  const found: string[] = []
  const line = (position: number): number => parsed.getLineAndCharacterOfPosition(position).line + 1
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const first = line(node.getStart(parsed))
      const lines = line(node.end) - first + 1
      if (lines > linesMax) found.push(`${path}:${first} ${node.name?.getText(parsed) ?? 'function'}: ${lines} lines`)
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return found
}

t.test(`no function of src/ is longer than ${linesMax} lines`, (t) => {
  const sources = sourcesOf('src')
  t.ok(sources.length > 50, 'the files were found')
  t.strictSame(sources.flatMap(longFunctions), [])
  t.end()
})

t.test('planted functions one line over the limit are found', (t) => {
  const body = (lines: number): string => '  work()\n'.repeat(lines - 2)
  const planted = (lines: number): string =>
    [
      `function plain() {\n${body(lines)}}`,
      `const arrow = () => {\n${body(lines)}}`,
      `class Thing {\n  method() {\n${body(lines)}  }\n}`,
    ].join('\n')
  t.equal(longFunctions(parse('src/planted.ts', planted(linesMax))).length, 0, 'at the limit, none is found')
  t.strictSame(longFunctions(parse('src/planted.ts', planted(linesMax + 1))), [
    'src/planted.ts:1 plain: 71 lines',
    'src/planted.ts:72 function: 71 lines',
    'src/planted.ts:144 method: 71 lines',
  ])
  t.end()
})
