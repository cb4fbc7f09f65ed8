/**
 * `npm run release -- VERSION`: from a clean checkout of the main branch, creates a commit, a tag and packages for that version.
 * It stops at the first problem. Nothing is changed until every test has passed; after a later problem, such as packages that cannot
 * be built, every change is undone. Nothing is published.
 *
 *     checks → all tests → version, documents, change log, the release's store → commit → packages, checksums → tag
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { documents, withVersion } from './documents.js'
import { contact, isOlder, noContact, repositoryVersion, restartBefore } from './release.js'
import { keepReleaseStore } from './release-store.js'
import { root, run, runVisibly } from './run.js'

const releaseBranch = 'main'
const changesFile = join(root, 'CHANGELOG.md')

const [version = ''] = process.argv.slice(2)
const changes = readFileSync(changesFile, 'utf8')
const problem = problemBefore()
if (problem !== undefined) {
  process.stderr.write(`release: ${problem}\n`)
  process.exit(2)
}
if (contact === '') process.stderr.write(`release: warning: ${noContact}\n`)

runVisibly('npm', ['ci'])
// This fails if a program is missing: a skipped test proves nothing about the release.
runVisibly('npm', ['run', 'test:all'])
runVisibly('npm', ['run', 'test:coverage'])

const head = run('git', ['rev-parse', 'HEAD'], root).trim()
try {
  run('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'], root)
  for (const document of documents) {
    const file = join(root, document)
    writeFileSync(file, withVersion(readFileSync(file, 'utf8'), version))
  }
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(changesFile, changes.replace('## Unreleased\n', `## Unreleased\n\n## ${version} (${today})\n`))
  const store = keepReleaseStore(version)
  run('git', ['add', 'package.json', 'package-lock.json', ...documents, changesFile, ...store], root)
  run('git', ['commit', '--quiet', '--message', `Release ${version}`], root)
  // After the commit: the files in the packages get its date, so that the packages can be rebuilt from the tag.
  runVisibly('npm', ['run', 'package'])
  run('git', ['tag', '--annotate', `v${version}`, '--message', `topicd ${version}`], root)
} catch (error) {
  run('git', ['add', '--all'], root)
  run('git', ['reset', '--quiet', '--hard', head], root)
  throw error
}
process.stdout.write(`release: ${version} is committed and tagged as v${version}; its packages are in packages/\n`)

/** Returns the reason why a release is not possible; undefined if it is. */
function problemBefore(): string | undefined {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return 'usage: npm run release -- VERSION, such as 0.2.0'
  const untouched = run('git', ['status', '--porcelain'], root)
  if (untouched !== '') return `the checkout is not clean:\n${untouched.trimEnd()}`
  if (run('git', ['tag', '--list', `v${version}`], root) !== '') return `the tag v${version} already exists`
  const branch = run('git', ['branch', '--show-current'], root).trim()
  if (branch !== releaseBranch)
    return `a release must be made from the branch ${releaseBranch}, but this is ${branch || 'no branch'}`
  if (isOlder(version, repositoryVersion)) return `${version} is older than ${repositoryVersion}`
  if (isOlder(version, restartBefore))
    return `packaging/restart-before contains ${restartBefore}, which is later than ${version}`
  return changesProblem()
}

/** Returns the problem with the change log, which must state for each release whether an upgrade needs a restart. */
function changesProblem(): string | undefined {
  const [, section = ''] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changes) ?? []
  if (!/^- /m.test(section)) return 'CHANGELOG.md has no entry below "## Unreleased"'
  const upgrading = /^Upgrading: ([\s\S]*?)\n\n/m.exec(section)?.[1]
  if (upgrading === undefined) return 'CHANGELOG.md has no paragraph "Upgrading: …" for this release'
  const saysRestart = /`?restart`?/.test(upgrading)
  const needsRestart = restartBefore === version
  if (saysRestart && !needsRestart)
    return `CHANGELOG.md mentions a restart, but packaging/restart-before contains ${restartBefore}`
  if (needsRestart && !saysRestart)
    return `packaging/restart-before contains ${version}, but CHANGELOG.md mentions no restart`
  return undefined
}
