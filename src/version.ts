/** The version of this build, as its package says it. */
import { readFileSync } from 'node:fs'

const description = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

export const version = description.version
