/** What a package says of its release. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './run.js'

export interface Release {
  readonly version: string
  /** An upgrade from a release before this one restarts the service: its primary cannot go on with the new workers. */
  readonly restartBefore: string
}

/** The version that package.json has. */
export const repositoryVersion = (
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
).version

/** The release that the file restart-before names. */
export const restartBefore = readFileSync(join(root, 'packaging/restart-before'), 'utf8').trim()

export function isOlder(version: string, other: string): boolean {
  const [first] = run('sort', ['--version-sort'], root, `${version}\n${other}\n`).split('\n')
  return version !== other && first === version
}
