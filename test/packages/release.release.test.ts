/**
 * `npm run release` in a clone whose test suite is replaced: the cases in which it refuses, and its result when everything passes. Steps
 * that take minutes are also replaced: the installation, the build of files that exist here already, and the compression of the packages.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { root } from '../support/documents.js'

t.setTimeout(1_200_000)

const base = mkdtempSync(join(tmpdir(), 'topicd-release-test-'))
t.teardown(() => rmSync(base, { recursive: true, force: true }))

const clone = join(base, 'clone')

const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: clone, encoding: 'utf8' }).trim()

function edit(file: string, change: (text: string) => string): void {
  const path = join(clone, file)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

/** An npm whose `ci` links the packages that are installed here. */
const programs = join(base, 'bin')
mkdirSync(programs)
const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
writeFileSync(
  join(programs, 'npm'),
  `#!/bin/sh
[ "$*" = ci ] || exec ${npm} "$@"
echo suite npm ci
rm -rf node_modules && exec ln -s ${join(root, 'node_modules')} node_modules
`,
  { mode: 0o755 },
)

function commit(message: string): void {
  git('commit', '--quiet', '--all', '--message', message)
}

const release = (version: string) =>
  spawnSync(process.execPath, [join(clone, 'dist-packaging/make-release.js'), version], {
    cwd: clone,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` },
  })

execFileSync('git', ['clone', '--quiet', '--no-tags', '--depth', '1', `file://${root}`, clone])
// Tests the files of this checkout, not only its commits.
for (const folder of ['packaging', 'dist-packaging', 'dist', 'src', 'systemd', 'clients', 'package.json']) {
  cpSync(join(root, folder), join(clone, folder), { recursive: true })
}
const { version: former } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')) as { version: string }
const [major = 0] = former.split('.').map(Number)
const next = `${major + 1}.0.0`
edit('package.json', (text) =>
  text
    .replace(/"(build:all|test:all|test:coverage)": ".*"/g, '"$1": "echo suite $1"')
    .replace(/"p(re|ost)test.*\n/g, '')
    .replace(/("package": ".* node dist-packaging\/main\.js)"/, '$1 --fast"'),
)
edit('packaging/restart-before', () => `${next}\n`)
edit('CHANGELOG.md', () => '# Changes\n\n## Unreleased\n\nUpgrading: use `systemctl restart`.\n\n- Something new.\n')
git('config', 'user.name', 'test')
git('config', 'user.email', 'test@localhost')
git('add', '--all')
commit('as it is here')
git('checkout', '--quiet', '-B', 'main')

await t.test('a release that is not ready is rejected, and nothing changes', async (t) => {
  const refused = (version: string, problem: string | RegExp): void => {
    const { status, stderr } = release(version)
    t.equal(status, 2)
    t.match(stderr, problem)
  }
  refused('', 'usage: npm run release -- VERSION')
  refused('v1', 'usage: npm run release -- VERSION')
  refused('0.0.1', `0.0.1 is older than ${former}`)
  refused(former, `packaging/restart-before contains ${next}, which is later than ${former}`)
  git('checkout', '--quiet', '-b', 'other')
  refused(next, 'a release must be made from the branch main, but this is other')
  git('checkout', '--quiet', 'main')
  refused(`${major + 2}.0.0`, `CHANGELOG.md mentions a restart, but packaging/restart-before contains ${next}`)
  git('tag', `v${next}`)
  refused(next, `the tag v${next} already exists`)
  git('tag', '--delete', `v${next}`)
  edit('CHANGELOG.md', (text) => text.replace('Upgrading: ', 'To upgrade: '))
  refused(next, 'the checkout is not clean')
  commit('no word on upgrades')
  refused(next, 'CHANGELOG.md has no paragraph "Upgrading: …" for this release')
  git('reset', '--quiet', '--hard', 'HEAD~1')
})

await t.test('a release that fails at its last step leaves nothing behind', async (t) => {
  const head = git('rev-parse', 'HEAD')
  git('config', 'tag.gpgSign', 'true')
  git('config', 'gpg.program', 'false')
  t.equal(release(next).status, 1)
  git('config', '--unset', 'tag.gpgSign')
  t.strictSame([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag', '--list')], [head, '', ''])
})

await t.test('a release is committed, tagged and packaged', async (t) => {
  const { status, stdout, stderr } = release(next)
  t.equal(status, 0, stderr)
  t.match(
    stdout,
    /suite npm ci\n[\s\S]*suite test:all\n[\s\S]*suite test:coverage\n[\s\S]*suite build:all\n/,
    'everything was installed and built again, and the whole suite ran',
  )
  t.match(
    stderr,
    'release: warning: no contact for bug reports; before you publish the package, set "bugs" in package.json',
  )
  t.equal(git('status', '--porcelain'), '', 'everything is committed')
  t.equal(git('describe'), `v${next}`)
  t.match(git('show', 'HEAD:package.json'), `"version": "${next}"`)
  t.match(git('show', 'HEAD:docs/install.md'), `topicd_${next}_amd64.deb`)
  t.match(git('show', 'HEAD:CHANGELOG.md'), new RegExp(`## Unreleased\n\n## ${next} \\(\\d{4}-\\d\\d-\\d\\d\\)\n`))
  t.match(git('show', '--stat', 'HEAD'), `test/releases/${next}.mdb.gz`)
  t.ok(existsSync(join(clone, `packages/topicd_${next}_amd64.deb`)) || process.arch !== 'x64')
  for (const name of [`topicd-client-${next}.tgz`, `topicd-${next}-py3-none-any.whl`, `topicd-${next}.tar.gz`])
    t.ok(existsSync(join(clone, 'packages', name)), name)
  const maintainer = (): string =>
    execFileSync('dpkg-deb', ['-f', join(clone, `packages/topicd_${next}_amd64.deb`), 'Maintainer'], {
      encoding: 'utf8',
    })
  if (process.arch === 'x64') t.match(maintainer(), 'no contact for bug reports')
  const sums = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: join(clone, 'packages') })
  t.equal(sums.status, 0, 'the checksums match the packages')
})
