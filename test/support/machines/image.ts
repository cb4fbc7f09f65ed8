/**
 * The image that the Containerfile describes, built by buildah for tests. No registry is needed: its base images are built from Debian's
 * packages and from Node.js in the npm registry, in the versions that the Containerfile names.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Test } from 'tap'

const containerfile = join(import.meta.dirname, '../../../Containerfile')

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** The image's settings for running it, in Docker's format. */
export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly ExposedPorts: Readonly<Record<string, unknown>>
  readonly Volumes: Readonly<Record<string, unknown>>
  readonly StopSignal: string
  readonly Healthcheck: { readonly Test: readonly string[] }
}

export interface Image {
  readonly config: ImageConfig
  /** The directory with the image's files. */
  readonly root: string
  /** The total size of its files. */
  readonly bytes: number
}

/** Why no image can be built here; false if one can. */
export function whyNoImage(): string | false {
  const programs = ['buildah', 'mmdebstrap']
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined)
  return missing.length > 0 && `${missing.join(' and ')} must be installed`
}

/** @returns a function that builds the image from a release's tarball; the images are deleted when the test ends */
export function imageBuilder(t: Test): (tarball: string) => Image {
  const work = mkdtempSync(join(tmpdir(), 'topicd-image-'))
  t.teardown(() => rmSync(work, { recursive: true, force: true }))
  const buildah = buildahIn(work)
  const text = readFileSync(containerfile, 'utf8')
  const base = buildBase(buildah, join(work, 'base'), defaultOf(text, 'BASE', /debian:(\w+)-slim$/))
  const node = buildNode(buildah, join(work, 'node'), defaultOf(text, 'NODE', /node:(\d+)-\w+-slim$/))
  const args = ['--build-arg', `BASE=${base}`, '--build-arg', `NODE=${node}`]
  return (tarball) => {
    const context = mkdtempSync(join(work, 'context-'))
    mkdirSync(join(context, 'packages'))
    copyFileSync(tarball, join(context, 'packages', basename(tarball)))
    buildah('bud', '--format=docker', '--pull-never', ...args, `--file=${containerfile}`, '--tag=topicd', context)
    const { Docker } = JSON.parse(buildah('inspect', '--type=image', 'topicd')) as { Docker: { config: ImageConfig } }
    const container = buildah('from', '--pull-never', 'topicd')
    const root = buildah('mount', container)
    const bytes = Number(execFileSync('du', ['-sb', root], { encoding: 'utf8' }).split('\t')[0])
    return { config: Docker.config, root, bytes }
  }
}

/** @returns the version that the default of a build argument names */
function defaultOf(text: string, argument: string, form: RegExp): string {
  const value = new RegExp(`^ARG ${argument}=(.+)$`, 'm').exec(text)?.[1] ?? ''
  const version = form.exec(value)?.[1]
  if (version === undefined) throw new Error(`Containerfile: the default of ${argument}, ${value}, is not ${form}`)
  return version
}

type Buildah = (...args: readonly string[]) => string

/**
 * buildah with its own images. It copies layers, because not every file system supports overlays, and runs commands without a container,
 * because not every machine supports containers.
 */
function buildahIn(work: string): Buildah {
  const options = ['--storage-driver=vfs', `--root=${join(work, 'images')}`, `--runroot=${join(work, 'run')}`]
  const env = { ...process.env, BUILDAH_ISOLATION: 'chroot' }
  return (...args) => {
    const { status, stdout, stderr } = spawnSync('buildah', [...options, ...args], { encoding: 'utf8', env })
    if (status !== 0) throw new Error(`buildah ${args.join(' ')}: exit status ${status}\n${stdout}${stderr}`)
    return stdout.trim()
  }
}

/** Builds a base from Debian's essential packages and libstdc++, the relevant contents of Debian's slim images. @returns its name */
function buildBase(buildah: Buildah, directory: string, release: string): string {
  mkdirSync(directory)
  const source = `deb [signed-by=${keyring}] http://deb.debian.org/debian ${release} main`
  const parts = ['--variant=essential', '--include=libstdc++6', '--quiet']
  execFileSync('mmdebstrap', [...parts, release, join(directory, 'root.tar'), source], { stdio: 'inherit' })
  return buildFromScratch(buildah, directory, 'ADD root.tar /', 'base')
}

/** @returns its name */
function buildNode(buildah: Buildah, directory: string, major: string): string {
  mkdirSync(directory)
  const name = `node-linux-${process.arch}@${major}`
  execFileSync('npm', ['pack', name, '--loglevel=error'], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
  const [packed = ''] = readdirSync(directory)
  execFileSync('tar', ['-xzf', packed, 'package/bin/node'], { cwd: directory })
  return buildFromScratch(buildah, directory, 'COPY package/bin/node /usr/local/bin/node', 'node')
}

function buildFromScratch(buildah: Buildah, directory: string, instruction: string, name: string): string {
  writeFileSync(join(directory, 'Containerfile'), `FROM scratch\n${instruction}\n`)
  buildah('bud', '--quiet', `--tag=${name}`, directory)
  // The files are now in the image's layer.
  rmSync(directory, { recursive: true })
  return `localhost/${name}`
}
