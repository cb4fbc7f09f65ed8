/** The documents list exactly the codes, statuses and wordings that answers can carry, and every setting. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { problemTable } from '../../dist/api/problems.js'
import { environmentName, settingTable } from '../../dist/settings/table.js'

const read = (page: string): string => readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')

t.test('docs/api.md lists exactly the errors that answers can carry', (t) => {
  const listed = [...read('api.md').matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+) \|$/gm)].map(
    ([, code, status, wording]) => `${code} ${status} ${wording}`,
  )
  t.strictSame(
    listed,
    Object.entries(problemTable).map(([code, { status, wording }]) => `${code} ${status} ${wording}`),
  )
  t.end()
})

t.test('docs/settings.md lists exactly the settings that the command line knows', (t) => {
  const listed = [...read('settings.md').matchAll(/^\| `--([\w-]+)` \| `(TOPICD_\w+)` \|/gm)].map(
    ([, flag, name]) => `${flag} ${name}`,
  )
  t.strictSame(
    listed,
    Object.keys(settingTable).map((flag) => `${flag} ${environmentName(flag)}`),
  )
  t.end()
})
