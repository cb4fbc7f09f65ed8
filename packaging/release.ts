/** Facts about a release that its packages contain. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './run.js'

export interface Release {
  readonly version: string
  /** An upgrade from a release earlier than this one restarts the service: the running primary cannot run the new workers. */
  readonly restartBefore: string
}

/** From package.json: the version, and the contact for bug reports, an address or a page; empty if there is no contact. */
export const { version: repositoryVersion, bugs: contact } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as { readonly version: string; readonly bugs: string }

/** The warning for a package without a contact, which should not be published. */
export const noContact = 'no contact for bug reports; before you publish the package, set "bugs" in package.json'

/** The release in the file restart-before. */
export const restartBefore = readFileSync(join(root, 'packaging/restart-before'), 'utf8').trim()

export function isOlder(version: string, other: string): boolean {
  const [first] = run('sort', ['--version-sort'], root, `${version}\n${other}\n`).split('\n')
  return version !== other && first === version
}
