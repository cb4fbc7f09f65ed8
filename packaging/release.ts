/** What a package says of its release. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './run.js'

export interface Release {
  readonly version: string
  /** An upgrade from a release before this one restarts the service: its primary cannot go on with the new workers. */
  readonly restartBefore: string
}

/** The version that package.json has, and whom users tell of faults: an address or a page; empty if nobody is named. */
export const { version: repositoryVersion, bugs: contact } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as { readonly version: string; readonly bugs: string }

/** Why a package without a contact should not be published. */
export const noContact = 'no contact: whoever publishes it names one in "bugs" of package.json'

/** The release that the file restart-before names. */
export const restartBefore = readFileSync(join(root, 'packaging/restart-before'), 'utf8').trim()

export function isOlder(version: string, other: string): boolean {
  const [first] = run('sort', ['--version-sort'], root, `${version}\n${other}\n`).split('\n')
  return version !== other && first === version
}
