/** Every process that a test starts ends with the one that started it: each `spawn` in test/ is tied (support/tied.ts). */
import t from 'tap'
import ts from 'typescript'
import { parse, type Source, sourcesOf } from '../support/sources.js'

/** The calls of `spawn` whose program and arguments do not come from `tied`. */
function looseIn({ parsed }: Source): string[] {
  const loose: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText(parsed) === 'spawn') {
      const [first] = node.arguments
      if (!first?.getText(parsed).startsWith('...tied(')) loose.push(node.getText(parsed))
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  return loose
}

t.test('tests start only processes that end with them', async (t) => {
  for (const source of sourcesOf('test')) t.strictSame(looseIn(source), [], source.path)
  const planted = parse('test/planted.ts', "spawn('sleep', ['9']); spawn(...tied('sleep', ['9']), {})")
  t.strictSame(looseIn(planted), ["spawn('sleep', ['9'])"])
})
