/** The source files of this repository, parsed: what the architecture checks read. Nothing here runs any of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'

export const root = resolve(import.meta.dirname, '../..')

export type Tree = 'src' | 'test' | 'bench'

export interface Source {
  /** From the root of the repository: src/http/server.ts. */
  readonly path: string
  readonly parsed: ts.SourceFile
}

export interface Import {
  /** A package by its name, a file of ours by its path from the root, as in src/http/server.ts. */
  readonly from: string
  /** What is taken of it by name; undefined where that may be anything. */
  readonly names: readonly string[] | undefined
}

/** @param text what a file of ours holds, or what a test plants */
export function parse(path: string, text: string): Source {
  return { path, parsed: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) }
}

/** Every file below `tree`, in order of its path. */
export function sourcesOf(tree: Tree): Source[] {
  return readdirSync(join(root, tree), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?ts$|\.mjs$/.test(name))
    .sort()
    .map((name) => parse(`${tree}/${name}`, readFileSync(join(root, tree, name), 'utf8')))
}

/** What a file imports, exports again or loads later. Types count too: they are knowledge. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = []
  const add = (from: ts.Expression, names: readonly string[] | undefined): void => {
    if (ts.isStringLiteralLike(from)) found.push({ from: target(source.path, from.text), names })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, namesOf(node.importClause?.namedBindings))
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) add(node.moduleSpecifier, namesOf(node.exportClause))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal as ts.Expression, undefined)
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      for (const argument of node.arguments) add(argument, undefined)
    }
    ts.forEachChild(node, visit)
  }
  visit(source.parsed)
  return found
}

function namesOf(bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined): string[] | undefined {
  if (bindings === undefined || !('elements' in bindings)) return undefined
  return bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
}

/** Tests and benchmarks import what was built from src/; here that is the source. */
function target(importer: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  const path = relative(root, resolve(root, dirname(importer), specifier)).replace(/^dist\//, 'src/')
  return path.replace(/\.js$/, '.ts')
}

/** The texts of all comments of a file. */
export function commentsOf({ parsed }: Source): string[] {
  const found = new Map<number, string>()
  const visit = (node: ts.Node): void => {
    // A token's own children are none, and what stands before the first token of a node stands before the node.
    for (const range of [
      ...(ts.getLeadingCommentRanges(parsed.text, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(parsed.text, node.end) ?? []),
    ]) {
      found.set(range.pos, parsed.text.slice(range.pos, range.end))
    }
    for (const child of node.getChildren(parsed)) visit(child)
  }
  visit(parsed)
  return [...found.values()]
}

/** Whether there is a file at a path from the root of the repository. */
export function isFile(path: string): boolean {
  return existsSync(join(root, path))
}
