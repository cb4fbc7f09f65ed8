/**
 * Generates the table of docs/settings.md from the table of settings. As a program (`npm run docs:settings`), it writes the
 * table into the page; the test docs/documents compares the two.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { environmentName, type Setting, settingTable } from '../dist/settings/table.js'

export const settingsPage = 'docs/settings.md'

const begin = '<!-- The table is made by `npm run docs:settings`. -->\n'
const end = '<!-- End of the table. -->\n'

/** The only default that depends on the machine. */
const defaultInWords: Readonly<Record<string, string>> = { workers: 'the cores or the CPU quota, at least 2' }

function boundsOf({ kind, min, max }: Setting): string {
  if (kind === 'switch') return 'true, false'
  return kind === 'number' ? `${min} to ${max}` : ''
}

function rowOf(name: string, setting: Setting): string {
  const plain = setting.default === '' ? 'none' : `\`${setting.default}\``
  const cells = [
    `\`--${name}\``,
    `\`${environmentName(name)}\``,
    defaultInWords[name] ?? plain,
    boundsOf(setting),
    setting.help,
  ]
  return `| ${cells.join(' | ')} |`
}

/** Returns the page with the current table. */
export function withTable(page: string): string {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`the comments around the table in ${settingsPage} are missing`)
  const rows = Object.entries(settingTable).map(([name, setting]) => rowOf(name, setting))
  const table = ['| Flag | Environment | Default | Bounds | Meaning |', '|---|---|---|---|---|', ...rows, ''].join('\n')
  return page.slice(0, from + begin.length) + table + page.slice(to)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const file = join(import.meta.dirname, '..', settingsPage)
  writeFileSync(file, withTable(readFileSync(file, 'utf8')))
}
