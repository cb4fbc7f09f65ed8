/**
 * The English of this repository, for the check of its words: comments in the sources, test names, messages to users, and documents. Each
 * piece is one comment, one string or one paragraph, on a single line.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { documents, proseOf, root } from './documents.js'
import { commentsOf, type Source, sourcesOf } from './sources.js'

export interface Prose {
  readonly path: string
  /** The line's number, from 1. */
  readonly line: number
  readonly kind: 'comment' | 'text' | 'document'
  readonly text: string
}

/** All prose of the repository. */
export function allProse(): readonly Prose[] {
  const sources = (['src', 'test', 'bench'] as const).flatMap(sourcesOf)
  return [
    ...sources.flatMap((source) => [...commentsIn(source), ...textsIn(source)]),
    ...documents.flatMap(paragraphsOf),
  ]
}

/** Line comments directly below each other count as one. */
function commentsIn(source: Source): readonly Prose[] {
  const { path, parsed } = source
  const found: Prose[] = []
  let end = 0
  for (const [at, comment] of commentsOf(source)) {
    const line = parsed.getLineAndCharacterOfPosition(at).line + 1
    const before = found.at(-1)
    const text = oneLine(comment.replace(/^\/\/|^\/\*+|\*\/$|^\s*\*(?!\/)/gm, ' '))
    const isNext = comment.startsWith('//') && parsed.text.slice(end, at).trim() === '' && end > 0
    if (isNext && before !== undefined) found[found.length - 1] = { ...before, text: `${before.text} ${text}` }
    else found.push({ path, line, kind: 'comment', text })
    end = at + comment.length
  }
  return found
}

/** Strings of more than two words. */
function textsIn({ path, parsed }: Source): readonly Prose[] {
  const found: Prose[] = []
  const visit = (node: ts.Node): void => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)
    if (isText) {
      const text = oneLine(
        node
          .getText()
          .slice(1, -1)
          .replace(/\$\{[^}]*\}/g, '…'),
      )
      const line = parsed.getLineAndCharacterOfPosition(node.getStart()).line + 1
      if (/\p{L}+ \p{L}+ \p{L}+/u.test(text)) found.push({ path, line, kind: 'text', text })
    } else ts.forEachChild(node, visit)
  }
  visit(parsed)
  return found
}

function paragraphsOf(path: string): readonly Prose[] {
  const found: Prose[] = []
  // Code is not prose.
  const lines = proseOf(readFileSync(join(root, path), 'utf8'))
    .replace(/`[^`\n]*`/g, '`…`')
    .split('\n')
  for (const [index, content] of lines.entries()) {
    const before = found.at(-1)
    const continues = before !== undefined && lines[index - 1]?.trim() !== '' && !/^\s*([-*|#!]|\d+\.)/.test(content)
    if (content.trim() === '') continue
    if (continues) found[found.length - 1] = { ...before, text: `${before.text} ${oneLine(content)}` }
    else found.push({ path, line: index + 1, kind: 'document', text: oneLine(content) })
  }
  return found
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
