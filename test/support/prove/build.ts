/** What a proof is about: the program that was built, and the tests and libraries that judged it, as one digest. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Parts {
  /** Directories, of whose `.js` files all count, except those below a path that is left out. */
  readonly directories: readonly string[]
  readonly without?: readonly string[]
  readonly files: readonly string[]
}

/** A digest of these files' contents and names, and of the version of Node. */
export function digestOf({ directories, without = [], files }: Parts): string {
  const built = directories.flatMap((directory) =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .map((name) => join(directory, name)),
  )
  const counted = [...built, ...files].filter((file) => !without.some((path) => file.startsWith(path))).sort()
  const hash = createHash('sha256').update(process.version)
  for (const file of counted) hash.update(`\n${file}\n`).update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}

/**
 * The digest for a proof. The console's pages are left out, which no proof loads, and the framework, which runs rounds
 * but does not judge them.
 *
 * @param root of the repository
 * @param testFile the proof's test, built
 * @param isOfAllTests whether its test runs others
 */
export function buildOf(root: string, testFile: string, isOfAllTests = false): string {
  const tests = join(root, 'dist-test')
  return digestOf({
    directories: [join(root, 'dist'), isOfAllTests ? tests : join(tests, 'support')],
    without: [join(root, 'dist/console/'), join(tests, 'support/prove/')],
    files: [testFile, join(root, 'package-lock.json')],
  })
}
