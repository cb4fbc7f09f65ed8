/** Where and when a round runs, for whoever reads its figures. */
import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'
import { root } from '../documents.js'

export interface Circumstances {
  /** Of the repository, with a note if it had changes that are in none. */
  readonly revision: string
  /** In ISO 8601. */
  readonly day: string
  readonly machine: string
}

/** @throws Error outside of a Git repository */
export function circumstancesNow(): Circumstances {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  const changes = git('status', '--porcelain', '--', 'src', 'test', 'package-lock.json')
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`
  return {
    revision: git('rev-parse', '--short', 'HEAD') + (changes === '' ? '' : ' with changes'),
    day: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${memory}, Linux ${release()}, Node.js ${process.version}`,
  }
}
