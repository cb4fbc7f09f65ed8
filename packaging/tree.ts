/**
 * The program as it is installed, the same for every kind of package: what `npm pack` publishes, its production
 * dependencies as package-lock.json names them, and the launcher. It runs with every Node.js version that topicd
 * supports, so it has the HTTP library's binary for each.
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

/** Makes the program's folder at `directory`, which must not exist. It has no version yet. */
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

/** Gives the folder the version of a release, in place of any it has. */
export function labelTree(directory: string, { version, restartBefore }: Release): void {
  const file = join(directory, 'package.json')
  // npm would look for what development needs, to list what is there.
  const { devDependencies: _, ...description } = JSON.parse(readFileSync(file, 'utf8')) as { devDependencies?: object }
  // New files: those that are there may be linked into packages that are already built.
  rmSync(file)
  writeFileSync(file, `${JSON.stringify({ ...description, version }, undefined, 2)}\n`)
  rmSync(join(directory, 'restart-before'), { force: true })
  writeFileSync(join(directory, 'restart-before'), `${restartBefore}\n`)
}

/** Where packages of the HTTP library's binaries are: for each platform and major version of Node.js. */
const binaryPrefix = `node_modules/@uwsjs/linux-${process.arch}-`

/** npm installs only the binary for the Node.js that it runs on. */
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
  /** Its checksum. */
  readonly integrity: string
}

/**
 * Packs packages with npm: those of folders, or of the registry. Their scripts are not run: the checkout is built
 * already, and building it again would disturb whatever runs from it.
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
