/** The components of a release, for vulnerability scanners: CycloneDX, as JSON. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from './release.js'
import { epoch, run } from './run.js'

interface Sbom {
  /** Random, so it would differ in each build. */
  serialNumber?: string
  readonly metadata: { timestamp: string; readonly component: { name: string } }
}

/** Lists the npm packages in the program's folder, which has the release's version. @returns the file, in `out` */
export function buildSbom(directory: string, { version }: Release, out: string): string {
  const sbom = JSON.parse(run('npm', ['sbom', '--sbom-format=cyclonedx'], directory)) as Sbom
  delete sbom.serialNumber
  sbom.metadata.timestamp = new Date(Number(epoch) * 1000).toISOString()
  // npm uses the name of the folder.
  sbom.metadata.component.name = 'topicd'
  const file = join(out, `topicd-${version}.sbom.json`)
  writeFileSync(file, `${JSON.stringify(sbom, undefined, 2)}\n`)
  return file
}
