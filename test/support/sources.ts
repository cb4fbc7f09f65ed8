/** The source files of this repository, parsed for the architecture checks. This module executes none of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { root } from './documents.js'

export type Tree = 'src' | 'test' | 'bench'

export interface Source {
  /** Relative to the root of the repository, such as src/http/server.ts. */
  readonly path: string
  readonly parsed: ts.SourceFile
}

export interface Import {
  /** The name of a package, or the path of one of our files relative to the root, such as src/http/server.ts. */
  readonly from: string
  /** The imported names; undefined if any name may be used. */
  readonly names: readonly string[] | undefined
}

/** @param text the content of one of our files, or text planted by a test */
export function parse(path: string, text: string): Source {
  return { path, parsed: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) }
}

/** Every file below `tree`, in order of path. */
export function sourcesOf(tree: Tree): Source[] {
  return readdirSync(join(root, tree), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?ts$|\.mjs$/.test(name))
    .sort()
    .map((name) => parse(`${tree}/${name}`, readFileSync(join(root, tree, name), 'utf8')))
}

/** The imports, re-exports and dynamic imports of a file. Types count, because they are also dependencies. */
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

/** The source file behind an import: tests and benchmarks import the files built from src/. */
function target(importer: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  const path = relative(root, resolve(root, dirname(importer), specifier)).replace(/^dist\//, 'src/')
  return path.replace(/\.js$/, '.ts')
}

/** The comments of a file by position, in order. */
export function commentsOf({ parsed }: Source): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  const visit = (node: ts.Node): void => {
    // A token has no children, and a comment before a node's first token is also before the node.
    for (const range of [
      ...(ts.getLeadingCommentRanges(parsed.text, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(parsed.text, node.end) ?? []),
    ]) {
      found.set(range.pos, parsed.text.slice(range.pos, range.end))
    }
    for (const child of node.getChildren(parsed)) visit(child)
  }
  visit(parsed)
  return new Map([...found].sort(([a], [b]) => a - b))
}

/** Whether a file exists at a path relative to the root of the repository. */
export function isFile(path: string): boolean {
  return existsSync(join(root, path))
}
