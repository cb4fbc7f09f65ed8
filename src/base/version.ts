/** The version of this build, from its package.json. */
import { readFileSync } from 'node:fs'

const description = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const version = description.version
