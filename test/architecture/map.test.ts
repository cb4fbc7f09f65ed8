/** The map of the tests, test/README.md, names each file of each folder, and no other. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root, sourcesOf } from '../support/sources.js'

/** Each test by its folder and its name there: `postgres/away.long`. */
const tests = sourcesOf('test').flatMap(
  ({ path }) => /^test\/(.+?)(?:\.test)?(?<!\/support\/.+)\.ts$/.exec(path)?.[1] ?? [],
)

/** The tests that a map names in the first column of its tables, by the folders of the heading above. */
function named(map: string): string[] {
  return map.split(/^## /m).flatMap((section) => {
    const folders = section.split(/[:\n]/, 1).join('').split(', ')
    const names = [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => [
      ...cell.matchAll(/`([\w.-]+)`/g),
    ])
    return names.map(([, name = '']) => {
      const folder = folders.find((folder) => tests.includes(`${folder}/${name}`)) ?? folders[0]
      return `${folder}/${name}`
    })
  })
}

const mapOf = (text: string): string[] => named(text.slice(text.indexOf('\n## api'))).sort()

t.test('the map names every test and nothing else', (t) => {
  const map = readFileSync(join(root, 'test/README.md'), 'utf8')
  t.strictSame(mapOf(map), [...tests].sort())
  const planted = map.replace('`page-cost`', '`page-price`')
  t.ok(mapOf(planted).includes('postgres/page-price'), 'a planted name is found')
  t.end()
})
