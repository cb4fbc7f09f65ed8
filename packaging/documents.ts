/** The documents for users, which name the current release's packages, image and output. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.js'

/** Relative to the checkout. */
export const documents: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
]

/** Replaces the version in names of files, folders and images, in the output of `reload`, and in README.md's last section. */
export function withVersion(document: string, version: string): string {
  return document.replace(/(?<=\btopicd[-_:]|, version |^Version )\d+\.\d+\.\d+/gm, version)
}
