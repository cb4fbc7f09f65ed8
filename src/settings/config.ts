/**
 * Resolved settings: the only reader of TOPICD_ variables and of the settings file. Everything else gets a frozen
 * `Config`. Anything unknown, repeated or out of bounds is a `UsageError` whose message names it: at the start it ends
 * the process with exit code 2; at a reload the old settings stay.
 *
 * A flag overrides the environment, the environment the settings file, and the file the default. Names, bounds
 * and defaults are in the table of table.ts; nothing here lists them again.
 */
import { readFileSync } from 'node:fs'
import { parseSettingsFile, type SettingsFile, unknownVariable } from './file.js'
import { environmentName, type Setting, type SettingName, settingNames, settingProblem, settingTable } from './table.js'

/** The command line, the environment or the settings file is wrong; the message is for the person who wrote it. */
export class UsageError extends Error {}

/** The settings, of the right type and within their bounds: `bodyBytesMax` is the number of `--body-bytes-max`. */
export type Config = { readonly [Name in SettingName as CamelCase<Name>]: ValueOf<(typeof settingTable)[Name]['kind']> }

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

type ValueOf<Kind extends Setting['kind']> = { text: string; number: number; switch: boolean }[Kind]

/** The texts of the settings that were given as flags. */
export type GivenSettings = Readonly<Partial<Record<SettingName, string>>>

/** A setting's text, unchecked, and where it comes from. */
interface Resolved {
  readonly text: string
  /** `--port`, `TOPICD_PORT`, `/etc/topicd/topicd.env line 3` or `default`. */
  readonly from: string
}

export interface Resolution {
  readonly settings: Readonly<Record<SettingName, Resolved>>
  /** Everything that is wrong, one sentence each. */
  readonly problems: readonly string[]
  /** Lines of the file that have no effect, one sentence each. */
  readonly overridden: readonly string[]
}

const variables = settingNames.map(environmentName)

/** Resolves each setting from the first source that gives it. Throws nothing: what is wrong is in `problems`. */
export function resolveSettings(flags: GivenSettings): Resolution {
  const problems = Object.keys(process.env)
    .filter((name) => name.toUpperCase().startsWith('TOPICD_') && !variables.includes(name))
    .map((name) => unknownVariable(name, variables))
  const path = flags.settings ?? process.env[environmentName('settings')] ?? settingTable.settings.default
  const file = readSettingsFile(path)
  problems.push(...file.problems)
  const resolved: Partial<Record<SettingName, Resolved>> = {}
  const ineffective: string[] = []
  for (const name of settingNames) {
    const [effective, ...overridden] = textsOf(name, flags, file, path)
    // A wrong line of the file is reported even if something overrides it; it would break the first start without the
    // override.
    const checked = [effective, ...overridden.filter(({ isInFile }) => isInFile)]
    problems.push(...checked.flatMap(({ text, source }) => settingProblem(settingTable[name], text, source) ?? []))
    resolved[name] = effective
    const line = overridden.find(({ isInFile, text }) => isInFile && text !== effective.text)
    const overriding = effective.from === environmentName(name) ? 'the environment' : effective.source
    if (line !== undefined) ineffective.push(`${line.source} has no effect: ${overriding} overrides it`)
  }
  const settings = resolved as Record<SettingName, Resolved>
  if ((settings['tls-cert'].text === '') !== (settings['tls-key'].text === '')) {
    problems.push('--tls-cert and --tls-key must be given together')
  }
  if (settings['first-key'].text === 'true' && settings['first-key-file'].text !== '') {
    problems.push(`${settings['first-key'].from} and ${settings['first-key-file'].from} cannot be given together`)
  }
  return { settings, problems, overridden: ineffective }
}

interface Source extends Resolved {
  /** The source as the subject of a sentence. */
  readonly source: string
  readonly isInFile: boolean
}

/** A setting's texts in order of precedence; the default is last. */
function textsOf(
  name: SettingName,
  flags: GivenSettings,
  { texts }: SettingsFile,
  path: string,
): [Source, ...Source[]] {
  const flag = flags[name]
  const variable = environmentName(name)
  const given = process.env[variable]
  const inFile = texts.get(variable)
  const sources: Source[] = []
  if (flag !== undefined) sources.push({ text: flag, from: `--${name}`, source: `--${name}`, isInFile: false })
  if (given !== undefined) sources.push({ text: given, from: variable, source: variable, isInFile: false })
  if (inFile !== undefined) {
    const from = `${path} line ${inFile.line}`
    sources.push({ text: inFile.text, from, source: `${from}: ${variable}`, isInFile: true })
  }
  const byDefault = { text: settingTable[name].default, from: 'default', source: `--${name}`, isInFile: false }
  const [first = byDefault, ...others] = sources
  return [first, ...others, byDefault]
}

function readSettingsFile(path: string): SettingsFile {
  if (path === '') return { texts: new Map(), problems: [] }
  try {
    return parseSettingsFile(readFileSync(path, 'utf8'), path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const cure = code === 'EACCES' ? `; this account (uid ${process.getuid?.()}) must be able to read it` : ''
    return { texts: new Map(), problems: [`the settings file ${path} cannot be read: ${message}${cure}`] }
  }
}

/**
 * The settings, resolved and frozen. May be called again; it then reads the settings file again.
 *
 * @throws UsageError when one is wrong
 */
export function readConfig(flags: GivenSettings): Config {
  const { settings, problems } = resolveSettings(flags)
  const [problem] = problems
  if (problem !== undefined) throw new UsageError(problem)
  const members = settingNames.map((name) => [camelCase(name), settingValue(settingTable[name], settings[name].text)])
  // The type is derived from the same table.
  return Object.freeze(Object.fromEntries(members) as Config)
}

/** Why the two listeners cannot both have their ports; undefined if they can. */
export function portsProblem({
  host,
  port,
  adminHost,
  adminPort,
}: Pick<Config, 'host' | 'port' | 'adminHost' | 'adminPort'>): string | undefined {
  if (port === 0 || port !== adminPort) return undefined
  const shareAddress = host === adminHost || includesAddress(host, adminHost) || includesAddress(adminHost, host)
  return shareAddress ? '--port and --admin-port must differ' : undefined
}

/** Whether a host stands for all addresses of the machine, the other among them: that of IPv6 also for those of IPv4. */
function includesAddress(host: string, other: string): boolean {
  return host === '::' || (host === '0.0.0.0' && !other.includes(':'))
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The value of a checked text. */
function settingValue({ kind, normalise }: Setting, text: string): string | number | boolean {
  switch (kind) {
    case 'text':
      return normalise === undefined ? text : normalise(text)
    case 'number':
      return Number(text)
    case 'switch':
      return text === 'true'
    default:
      return kind satisfies never
  }
}

/** A setting's text as it may be shown. */
export function redactedText(name: SettingName, text: string): string {
  const { redact }: Setting = settingTable[name]
  return redact?.(text) ?? text
}
