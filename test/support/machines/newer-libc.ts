/**
 * A C library that is newer than the machine's, Debian 13's, in its own directory, for programs that need it. The machine's own library
 * stays unchanged.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const key = '/usr/share/keyrings/debian-archive-keyring.gpg'
const packages = ['libc6', 'libgcc-s1', 'libstdc++6']

/** The minor version of Debian 13's library, 2.41. */
export const newerLibcMinor = 41

/** Why this machine cannot use it; false if it can. */
export function whyNoNewerLibc(): string | false {
  if (process.arch !== 'x64') return 'the newer C library is fetched for x64 only'
  if (process.getuid?.() !== 0) return 'a mount needs root'
  if (!existsSync(key)) return "the newer C library is Debian's, whose key is missing"
  for (const [program, ...args] of [
    ['apt-get', '--version'],
    ['dpkg', '--version'],
    ['unshare', '--mount', 'true'],
  ] as const) {
    if (spawnSync(program, args).status !== 0) return `${program} is missing, or does not have the required permission`
  }
  return false
}

/**
 * Fetches the library into a new directory.
 *
 * @returns a program that runs another program with it; only that program and its children use the new library
 */
export function fetchNewerLibc(directory: string): string {
  for (const part of ['lists/partial', 'cache/archives/partial', 'root'])
    mkdirSync(join(directory, part), { recursive: true })
  writeFileSync(join(directory, 'sources.list'), `deb [signed-by=${key}] http://deb.debian.org/debian trixie main\n`)
  const own = {
    'Dir::Etc::SourceList': join(directory, 'sources.list'),
    'Dir::Etc::SourceParts': '-',
    'Dir::State::Lists': join(directory, 'lists'),
    'Dir::Cache': join(directory, 'cache'),
    'APT::Sandbox::User': 'root',
  }
  const options = Object.entries(own).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const run = (program: string, ...args: readonly string[]): string =>
    execFileSync(program, args, { cwd: directory, encoding: 'utf8' })
  run('apt-get', ...options, '-q', 'update')
  run('apt-get', ...options, '-q', 'download', ...packages)
  const files = run('sh', '-c', 'ls *.deb').trim().split('\n')
  for (const file of files) run('dpkg', '-x', file, 'root')
  const libraries = '/usr/lib/x86_64-linux-gnu'
  const overlay = `mount -t overlay overlay -o lowerdir=${join(directory, `root${libraries}`)}:${libraries} ${libraries}`
  const runner = join(directory, 'with-newer-libc')
  writeFileSync(runner, `#!/bin/sh\nexec unshare --mount sh -c '${overlay} && exec "$@"' sh "$@"\n`, { mode: 0o755 })
  return runner
}
