/** `npm ci` prints no warning on the Node.js that runs this test, as far as package-lock.json can tell. */
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { root } from '../support/documents.js'

t.setTimeout(600_000)

/** The members of package-lock.json that are tested. */
interface Lock {
  readonly packages: Record<string, { readonly deprecated?: string; engines?: Readonly<Record<string, string>> }>
}

const text = readFileSync(join(root, 'package-lock.json'), 'utf8')
const { packages } = JSON.parse(text) as Lock

/** The warnings of `npm ci` about a lock, which it reads in its own folder before it would install. Nothing is downloaded. */
async function warnings(t: Test, lock: string): Promise<readonly string[]> {
  const cwd = t.testdir()
  copyFileSync(join(root, 'package.json'), join(cwd, 'package.json'))
  writeFileSync(join(cwd, 'package-lock.json'), lock)
  const { stderr } = await promisify(execFile)('npm', ['ci', '--dry-run', '--offline', '--no-audit'], { cwd })
  return stderr.split('\n').filter((line) => line.includes('warn'))
}

t.test('npm ci prints no warning', async (t) => {
  t.strictSame(await warnings(t, text), [])
})

t.test('no package is deprecated', async (t) => {
  t.strictSame(
    Object.entries(packages).flatMap(([path, { deprecated }]) => (deprecated === undefined ? [] : [path])),
    [],
  )
})
