/** The list of dependencies of a release names the packages in its tarball, each with its version. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtPackages } from '../support/machines/built-packages.js'

interface Component {
  readonly name: string
  readonly version: string
}

interface Sbom {
  readonly serialNumber?: string
  readonly components: readonly Component[]
}

t.setTimeout(600_000)

t.test('the SBOM lists each package in the tarball and nothing else', async (t) => {
  const packageOf = builtPackages(t)
  const directory = t.testdir()
  execFileSync('tar', ['-xzf', packageOf('tarball', '8.0.0'), '-C', directory, '--strip-components=1'])
  const installed = packagesIn(directory)
  const sbom = JSON.parse(readFileSync(packageOf('sbom', '8.0.0'), 'utf8')) as Sbom
  t.match(sbom, { bomFormat: 'CycloneDX', metadata: { component: { name: 'topicd', version: '8.0.0' } } })
  t.equal(sbom.serialNumber, undefined, 'the same commit gives the same list')
  const listed = sbom.components.map(({ name, version }) => `${name}@${version}`)
  t.ok(installed.length > 20, `${installed.length} packages`)
  t.strictSame(listed.sort(), [...new Set(installed)].sort())
})

/** The packages in a folder's node_modules, as name@version. */
function packagesIn(directory: string): readonly string[] {
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    const [, name] = inPackage.exec(file) ?? []
    if (name === undefined) return []
    const { version } = JSON.parse(readFileSync(join(directory, file), 'utf8')) as Component
    return [`${name}@${version}`]
  })
}
