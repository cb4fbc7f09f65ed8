/**
 * The documents as tests read them: their list, headings, links and examples.
 *
 * An example is a ```sh block, or a ```ts block for the client. A ```json block directly after it is its exact output. Blocks of other
 * kinds (```console, ```text, ```json alone) are not run.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The directory of README.md. */
export const root = join(import.meta.dirname, '../..')

/** Every document whose links and anchors are checked, relative to the root. */
export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...['docs', 'docs/maintainers'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .sort()
      .map((name) => `${folder}/${name}`),
  ),
]

export function readDocument(name: string): string {
  return readFileSync(join(root, name), 'utf8')
}

/** A block between two lines that start with three backticks. */
export interface Block {
  /** The word after the opening backticks, or an empty string. */
  readonly kind: string
  readonly text: string
  /** The number of its opening line, from 1. */
  readonly line: number
}

/** A line outside of blocks, or a whole block. */
type Part = string | Block

function partsOf(text: string): readonly Part[] {
  const parts: Part[] = []
  let open: { kind: string; line: number; lines: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\w*)$/.exec(line)
    if (open === undefined && fence !== null) open = { kind: fence[1] ?? '', line: index + 1, lines: [] }
    else if (open === undefined) parts.push(line)
    else if (fence !== null) {
      parts.push({ kind: open.kind, line: open.line, text: open.lines.join('\n') })
      open = undefined
    } else open.lines.push(line)
  }
  if (open !== undefined) throw new Error(`the block at line ${open.line} is not closed`)
  return parts
}

/** The text below the heading with this anchor, up to the next heading of the same level or above. */
export function sectionOf(text: string, anchor: string): string {
  const headings = headingsOf(text)
  const start = headings[anchorsOf(text).indexOf(anchor)]
  if (start === undefined) throw new Error(`there is no heading "#${anchor}"`)
  const end = headings.find(({ line, level }) => line > start.line && level <= start.level)
  return text
    .split('\n')
    .slice(start.line, end && end.line - 1)
    .join('\n')
}

/** The blocks of one kind. */
export function blocksOf(text: string, kind: string): readonly Block[] {
  return partsOf(text).filter((part): part is Block => typeof part !== 'string' && part.kind === kind)
}

/** An example and its output; undefined if the document does not show the output. */
export interface Example {
  readonly line: number
  readonly script: string
  readonly answer: string | undefined
}

/** The examples of one language. */
export function examplesOf(text: string, kind: 'sh' | 'ts' = 'sh'): readonly Example[] {
  const parts = partsOf(text)
  return parts.flatMap((part, index) => {
    if (typeof part === 'string' || part.kind !== kind) return []
    const next = parts[index + 1]
    const answer = typeof next === 'object' && next.kind === 'json' ? next.text : undefined
    return [{ line: part.line, script: part.text, answer }]
  })
}

/** The text in which blocks and lines indented by four spaces are replaced by empty lines. */
export function proseOf(text: string): string {
  return partsOf(text)
    .map((part) => {
      if (typeof part !== 'string') return '\n'.repeat(part.text.split('\n').length + 1)
      return part.startsWith('    ') ? '' : part
    })
    .join('\n')
}

interface Heading {
  readonly title: string
  readonly level: number
  /** From 1. */
  readonly line: number
}

/** The headings outside of blocks. */
function headingsOf(text: string): readonly Heading[] {
  let isBlock = false
  return text.split('\n').flatMap((content, index) => {
    if (content.startsWith('```')) isBlock = !isBlock
    const [, marks = '', title] = (isBlock ? null : /^(#+) (.+)$/.exec(content)) ?? []
    return title === undefined ? [] : [{ title, level: marks.length, line: index + 1 }]
  })
}

/** The anchors of a document's headings, as GitHub generates them. */
export function anchorsOf(text: string): readonly string[] {
  const seen = new Map<string, number>()
  return headingsOf(text).map(({ title }) => {
    const anchor = anchorOf(title)
    const before = seen.get(anchor) ?? 0
    seen.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
  })
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** The targets of a document's links and images, without links to other hosts. */
export function linksOf(text: string): readonly string[] {
  return [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? '')
    .filter((target) => !/^\w+:/.test(target))
}
