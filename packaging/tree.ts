/**
 * Builds the installed program, which is the same in every kind of package: the files of `npm pack`, the production
 * dependencies in package-lock.json, and the launcher. It contains the HTTP library's binary for each Node.js version that
 * topicd supports.
 */
import { strict as assert } from 'node:assert'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from './release.js'
import { root, run } from './run.js'
import { shellScript } from './shell-script.js'

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>
}

/** Creates the program's folder at `directory`, which must not exist. It has no version yet. */
export function buildTree(directory: string): void {
  mkdirSync(directory, { recursive: true })
  const [program] = pack([root], directory)
  assert(program !== undefined, 'npm packed nothing')
  unpack(program.file, directory)
  cpSync(join(root, 'package-lock.json'), join(directory, 'package-lock.json'))
  run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], directory)
  addBinaries(directory)
  rmSync(join(directory, 'package-lock.json'))
  mkdirSync(join(directory, 'bin'))
  writeFileSync(join(directory, 'bin/topicd'), shellScript('launcher'), { mode: 0o755 })
}

/** Sets or replaces the release of the folder. */
export function labelTree(directory: string, { version, restartBefore }: Release): void {
  const file = join(directory, 'package.json')
  // Otherwise npm would report missing devDependencies.
  const { devDependencies: _, ...description } = JSON.parse(readFileSync(file, 'utf8')) as { devDependencies?: object }
  // New files, because the existing ones may be hard links into packages that are already built.
  rmSync(file)
  writeFileSync(file, `${JSON.stringify({ ...description, version }, undefined, 2)}\n`)
  rmSync(join(directory, 'restart-before'), { force: true })
  writeFileSync(join(directory, 'restart-before'), `${restartBefore}\n`)
}

/** The paths of the HTTP library's binary packages, without the major version of Node.js. */
const binaryPrefix = `node_modules/@uwsjs/linux-${process.arch}-`

/** npm installs only the binary for the Node.js version that runs it. */
function addBinaries(directory: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const binaries = Object.entries(lock.packages).filter(([path]) => path.startsWith(binaryPrefix))
  assert(binaries.length > 1, `package-lock.json names no binaries for ${binaryPrefix}`)
  const packed = pack(
    binaries.map(([path, { version }]) => `${path.replace('node_modules/', '')}@${version}`),
    directory,
  )
  for (const [i, [path, { integrity }]] of binaries.entries()) {
    assert(packed[i]?.integrity === integrity, `${path} is not what package-lock.json names`)
    const target = join(directory, path)
    rmSync(target, { recursive: true, force: true })
    mkdirSync(target, { recursive: true })
    unpack(packed[i].file, target)
  }
}

interface Packed {
  readonly file: string
  /** Checksum of the file. */
  readonly integrity: string
}

/**
 * Packs packages with npm, from folders or the registry. Their scripts are not run: the checkout is already built, and
 * another build would disturb programs that run from it.
 *
 * @returns their files, in `directory` and in the same order
 */
function pack(specifications: readonly string[], directory: string): readonly Packed[] {
  const flags = ['--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', directory]
  const packed = JSON.parse(run('npm', ['pack', ...specifications, ...flags], root)) as readonly {
    readonly filename: string
    readonly integrity: string
  }[]
  return packed.map(({ filename, integrity }) => {
    return { file: join(directory, filename.replace('@', '').replace('/', '-')), integrity }
  })
}

function unpack(file: string, directory: string): void {
  run('tar', ['-xzf', file, '-C', directory, '--strip-components=1', '--no-same-owner'], root)
  rmSync(file)
}
