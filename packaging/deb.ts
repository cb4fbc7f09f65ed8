/** Builds the Debian package: the program in /usr/lib/topicd, and the files that turn it into a service. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { manualPage } from './manual-page.js'
import { contact, noContact, type Release } from './release.js'
import { root, run } from './run.js'
import { shellScript } from './shell-script.js'
import { unitNames, units } from './units.js'

/** Debian's names for the architectures. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/**
 * Builds the package.
 *
 * @param tree the program's folder
 * @param work a folder for temporary files
 * @param out the folder for the package
 * @returns the package file
 */
export function buildDeb(tree: string, release: Release, work: string, out: string, fast: boolean): string {
  const { version } = release
  const target = join(work, `deb-${version}`)
  const architecture = architectures[process.arch] ?? process.arch
  mkdirSync(join(target, 'usr/lib'), { recursive: true })
  run('cp', ['-al', tree, join(target, 'usr/lib/topicd')], root)
  link(join(target, 'usr/bin/topicd'), '../lib/topicd/bin/topicd')
  for (const unit of unitNames) {
    put(join(target, 'usr/lib/systemd/system', unit), join(units, unit))
  }
  put(join(target, 'usr/lib/sysusers.d/topicd.conf'), join(units, 'topicd.sysusers'))
  put(join(target, 'usr/lib/sysctl.d/60-topicd.conf'), join(units, 'topicd.sysctl.conf'))
  put(join(target, 'etc/topicd/topicd.env'), join(units, 'topicd.env'))
  write(join(target, 'usr/share/man/man8/topicd.8.gz'), gzipSync(manualPage(version), { level: 9 }))
  put(join(target, 'usr/share/doc/topicd/copyright'), join(root, 'LICENSE'))
  const changes = gzipSync(readFileSync(join(root, 'CHANGELOG.md')), { level: 9 })
  write(join(target, 'usr/share/doc/topicd/CHANGELOG.md.gz'), changes)

  const kibibytes = run('du', ['-sk', '--apparent-size', target], root).split('\t')[0] ?? ''
  write(join(target, 'DEBIAN/control'), control(version, architecture, kibibytes))
  write(join(target, 'DEBIAN/conffiles'), '/etc/topicd/topicd.env\n')
  for (const name of ['preinst', 'postinst', 'prerm', 'postrm']) {
    write(join(target, 'DEBIAN', name), shellScript(name, { ...release }), 0o755)
  }
  run('chmod', ['-R', 'u=rwX,go=rX', target], root)
  run('chmod', ['640', join(target, 'etc/topicd/topicd.env')], root)

  const file = join(out, `topicd_${version}_${architecture}.deb`)
  const compression = fast ? ['-Zgzip', '-z1'] : ['-Zxz', '-z9']
  run('dpkg-deb', ['--root-owner-group', ...compression, '--build', target, file], root)
  return file
}

function control(version: string, architecture: string, kibibytes: string): string {
  return `Package: topicd
Version: ${version}
Architecture: ${architecture}
Maintainer: ${contact === '' ? noContact : `topicd <${contact}>`}
Installed-Size: ${kibibytes}
Depends: init-system-helpers (>= 1.54), libc6 (>= 2.34), libstdc++6 (>= 11), procps, systemd
Suggests: nodejs (>= 22.12)
Section: net
Priority: optional
Description: topic tree over HTTP
 Stores the latest value of each topic of a tree durably and exactly as it was
 sent, and serves single topics, subtrees and pages over HTTP.
 .
 It needs Node.js 22 (22.12 or later) or, with glibc 2.38, 24 or 26; 20.20 works,
 but is not supported. Without one of them, the installation fails.
`
}

function put(target: string, source: string): void {
  mkdirSync(dirname(target), { recursive: true })
  cpSync(source, target)
}

function link(target: string, to: string): void {
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(to, target)
}

function write(target: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, content, { mode })
}
