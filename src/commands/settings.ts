/**
 * `topicd settings`: the values that `serve` would use with the same flags, environment and settings file, and the source of
 * each; or every problem that would prevent a start. It changes nothing, so it can run alongside the service.
 */
import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { complain } from '../base/stderr.js'
import { readCertificate } from '../ops/tls.js'
import { portsProblem, type Resolution, redactedText, resolveSettings, UsageError } from '../settings/config.js'
import { type SettingName, settingNames } from '../settings/table.js'
import { aligned } from './columns.js'
import { command } from './command.js'
import { print } from './stdout.js'

export const settings = command({
  summary: 'checks and shows the settings before a start or a reload',
  details:
    'It takes the flags of serve, and exits with status 2 if serve would not start with them. The certificate, its key and the data directory are also checked. Passwords are not shown.',
  operands: [],
  settings: settingNames,
  flags: { json: { kind: 'switch', default: 'false', help: 'print one JSON document' } },
  async run({ settings: given, flags }) {
    const resolution = resolveSettings(given)
    const { found, notes } = examineFiles(resolution)
    const problems = [...resolution.problems, ...found]
    const last = problems.pop()
    for (const problem of problems) complain(problem)
    if (last !== undefined) throw new UsageError(last)
    for (const note of [...resolution.overridden, ...notes]) complain(note)
    await print(flags.json ? document(resolution) : table(resolution))
  },
})

function examineFiles({ config }: Resolution): { found: readonly string[]; notes: readonly string[] } {
  const { data, tlsCert = '', tlsKey = '' } = config
  const certificate = tlsCert === '' || tlsKey === '' ? undefined : problemOf(() => readCertificate(tlsCert, tlsKey))
  const directory = data === undefined ? undefined : examineDirectory(data)
  return {
    found: [certificate, directory?.problem, portsProblem(config)].filter((each) => each !== undefined),
    notes: [directory?.note].filter((each) => each !== undefined),
  }
}

function problemOf(attempt: () => void): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Returns a problem if this account cannot serve from a data directory, or a note if `serve` will create the directory. */
function examineDirectory(path: string): { problem?: string; note?: string } {
  const what = `the data directory ${path}`
  const parent = nearestExisting(path)
  const stats = statSync(parent)
  if (!stats.isDirectory())
    return {
      problem:
        parent === path ? `${what} is not a directory` : `${what} cannot be created: ${parent} is not a directory`,
    }
  const isAllowed = problemOf(() => accessSync(parent, constants.R_OK | constants.W_OK | constants.X_OK)) === undefined
  if (parent !== path) {
    return isAllowed
      ? { note: `${what} does not exist; serve will create it` }
      : { problem: `${what} does not exist, and ${permissions(parent, stats)}` }
  }
  return isAllowed ? {} : { problem: `${what} cannot be used by this account: ${permissions(path, stats)}` }
}

function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path))
}

function permissions(path: string, { uid, gid, mode }: Stats): string {
  return `${path} is owned by user ${uid}, group ${gid}, with mode ${(mode & 0o777).toString(8)}; this command runs as user ${process.getuid?.()}`
}

function table({ settings: resolved }: Resolution): string {
  const shown = (name: SettingName): string => redactedText(name, resolved[name].text) || '(none)'
  return aligned(settingNames.map((name) => [name, shown(name), resolved[name].from]))
}

function document({ settings: resolved }: Resolution): string {
  const values = settingNames.map((name) => [
    name,
    { value: redactedText(name, resolved[name].text), from: resolved[name].from },
  ])
  return `${JSON.stringify(Object.fromEntries(values))}\n`
}
