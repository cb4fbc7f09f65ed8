/**
 * Builds the tarball for systems without dpkg: the same program in a folder named after its version, with the system's files
 * and scripts that install and remove them. The link /opt/topicd leads to the release in use, so a rollback is one command.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manualPage } from './manual-page.js'
import type { Release } from './release.js'
import { epoch, root, run } from './run.js'
import { shellScript } from './shell-script.js'
import { unitNames, units } from './units.js'

/** Builds the tarball; the parameters and the result are as for `buildDeb`. */
export function buildTarball(tree: string, release: Release, work: string, out: string, fast: boolean): string {
  const { version } = release
  const name = `topicd-${version}`
  const target = join(work, name)
  run('cp', ['-al', tree, target], root)
  mkdirSync(join(target, 'system/units'), { recursive: true })
  for (const unit of unitNames) {
    const text = readFileSync(join(units, unit), 'utf8').replaceAll('/usr/bin/topicd', '/usr/local/bin/topicd')
    writeFileSync(join(target, 'system/units', unit), text)
  }
  mkdirSync(join(target, 'system/sysusers.d'))
  mkdirSync(join(target, 'system/sysctl.d'))
  cpSync(join(units, 'topicd.sysusers'), join(target, 'system/sysusers.d/topicd.conf'))
  cpSync(join(units, 'topicd.sysctl.conf'), join(target, 'system/sysctl.d/60-topicd.conf'))
  cpSync(join(units, 'topicd.env'), join(target, 'system/topicd.env'))
  writeFileSync(join(target, 'system/topicd.8'), manualPage(version))
  for (const name of ['install', 'uninstall']) {
    writeFileSync(join(target, name), shellScript(name, { ...release }), { mode: 0o755 })
  }
  run('chmod', ['-R', 'u=rwX,go=rX', target], root)

  const file = join(out, `${name}-linux-${process.arch}.tar.${fast ? 'gz' : 'xz'}`)
  const stable = ['--sort=name', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner']
  run('tar', [...stable, fast ? '-I gzip -1' : '-I xz -9', '-cf', file, '-C', work, name], root)
  return file
}
