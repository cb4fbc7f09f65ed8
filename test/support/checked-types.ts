/** The type errors in a program that uses the client, on each platform that has types. */
import { join } from 'node:path'
import ts from 'typescript'
import { root } from './documents.js'

export const dom = ['lib.es2022.d.ts', 'lib.dom.d.ts']

const node = {
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  lib: ['lib.es2022.d.ts'],
}

export const platforms: Readonly<Record<string, ts.CompilerOptions>> = {
  'Node.js': node,
  'Node.js and a browser': { ...node, lib: dom },
  'a browser': {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
    lib: dom,
  },
}

/** One line per error, in files whose names include `inFolder`. */
export function findings(file: string, options: ts.CompilerOptions, inFolder = ''): readonly string[] {
  const strictest = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
  const program = ts.createProgram([file], { ...strictest, noEmit: true, target: ts.ScriptTarget.ES2022, ...options })
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file === undefined || file.fileName.includes(inFolder))
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}
