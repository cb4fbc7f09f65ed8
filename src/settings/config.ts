/**
 * Resolved settings: the only reader of TOPICD_ variables and of the settings file; all other code gets a frozen `Config`.
 * An unknown, repeated or out-of-bounds setting is a `UsageError` whose message names it: at startup, the process exits
 * with code 2; at a reload, the old settings stay in effect.
 *
 * A flag overrides the environment, the environment the settings file, and the file the default. Names, bounds and defaults
 * are in table.ts only.
 */
import { readFileSync } from 'node:fs'
import { parseSettingsFile, type SettingsFile, unknownVariable } from './file.js'
import {
  environmentName,
  isProblem,
  parseSetting,
  type Setting,
  type SettingName,
  settingNames,
  settingTable,
  type ValueOf,
} from './table.js'

/** An error in the command line, the environment or the settings file; the message is for its author. */
export class UsageError extends Error {}

/** The values of the settings: `bodyBytesMax` is the value of `--body-bytes-max`. */
export type Config = { readonly [Name in SettingName as CamelCase<Name>]: ValueOf<(typeof settingTable)[Name]> }

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

/** The settings given as flags, as strings. */
export type GivenSettings = Readonly<Partial<Record<SettingName, string>>>

interface Resolved {
  readonly text: string
  /** `--port`, `TOPICD_PORT`, `/etc/topicd/topicd.env line 3` or `default`. */
  readonly from: string
}

export interface Resolution {
  readonly settings: Readonly<Record<SettingName, Resolved>>
  /** Without the settings whose values are invalid. */
  readonly config: Partial<Config>
  /** One sentence each. */
  readonly problems: readonly string[]
  /** Lines of the file that have no effect, one sentence each. */
  readonly overridden: readonly string[]
}

const variables = settingNames.map(environmentName)

/** Resolves each setting from the first source that contains it. Never throws: `problems` lists all errors. */
export function resolveSettings(flags: GivenSettings): Resolution {
  const problems = Object.keys(process.env)
    .filter((name) => name.toUpperCase().startsWith('TOPICD_') && !variables.includes(name))
    .map((name) => unknownVariable(name, variables))
  const path = flags.settings ?? process.env[environmentName('settings')] ?? settingTable.settings.default
  const file = readSettingsFile(path)
  problems.push(...file.problems)
  const resolved: Partial<Record<SettingName, Resolved>> = {}
  const values: Partial<Record<keyof Config, unknown>> = {}
  const ineffective: string[] = []
  for (const name of settingNames) {
    const [effective, ...overridden] = textsOf(name, flags, file, path) as [Source, ...Source[]]
    resolved[name] = effective
    // An invalid line of the file is reported even if it is overridden: without the override, the service would not start.
    for (const each of [effective, ...overridden.filter(({ isInFile }) => isInFile)]) {
      const value = parseSetting(settingTable[name], each.text, each.source)
      if (isProblem(value)) problems.push(value.problem)
      else if (each === effective) values[memberOf(name)] = value
    }
    const line = overridden.find(({ isInFile, text }) => isInFile && text !== effective.text)
    const overriding = effective.from === environmentName(name) ? 'the environment' : effective.source
    if (line !== undefined) ineffective.push(`${line.source} has no effect: ${overriding} overrides it`)
  }
  // The loop has set every member.
  const settings = resolved as Record<SettingName, Resolved>
  const config = values as Partial<Config>
  if ((config.tlsCert === '') !== (config.tlsKey === '')) {
    problems.push('--tls-cert and --tls-key must be given together')
  }
  if (config.firstKey === true && config.firstKeyFile !== '') {
    problems.push(`${settings['first-key'].from} and ${settings['first-key-file'].from} cannot be given together`)
  }
  return { settings, config, problems, overridden: ineffective }
}

interface Source extends Resolved {
  /** The source as the subject of a sentence. */
  readonly source: string
  readonly isInFile: boolean
}

/** The values of a setting, as strings in order of precedence; the default is last. */
function textsOf(name: SettingName, flags: GivenSettings, { texts }: SettingsFile, path: string): readonly Source[] {
  const variable = environmentName(name)
  const inFile = texts.get(variable)
  const line = `${path} line ${inFile?.line}`
  const sources = [
    { text: flags[name], from: `--${name}`, source: `--${name}`, isInFile: false },
    { text: process.env[variable], from: variable, source: variable, isInFile: false },
    { text: inFile?.text, from: line, source: `${line}: ${variable}`, isInFile: true },
    { text: settingTable[name].default, from: 'default', source: `--${name}`, isInFile: false },
  ]
  return sources.filter((each): each is Source => each.text !== undefined)
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

/** Reads the settings file on each call. @throws UsageError if a setting is invalid */
export function readConfig(flags: GivenSettings): Config {
  const { config, problems } = resolveSettings(flags)
  const [problem] = problems
  if (problem !== undefined) throw new UsageError(problem)
  // If there is no problem, each setting has a value.
  return Object.freeze(config as Config)
}

/**
 * These settings, with defaults for missing ones. Other defaults are not computed: the default data directory is relative to
 * the working directory, which may no longer exist.
 */
export function withDefaults(config: Partial<Config>): Config {
  return configOf(
    (name) => config[memberOf(name)] ?? parseSetting(settingTable[name], settingTable[name].default, name),
  )
}

/** The new settings, but the old values of those that need a restart; `restartNeeded` names those that have changed. */
export function reloadedConfig(before: Config, read: Config) {
  const isKept = (name: SettingName): boolean => (settingTable[name] as Setting).needsRestart === true
  const config = configOf((name) => (isKept(name) ? before : read)[memberOf(name)])
  const restartNeeded = settingNames.filter((name) => read[memberOf(name)] !== config[memberOf(name)])
  return { config, restartNeeded }
}

export function redactedConfig(config: Config): Config {
  return configOf((name) => {
    const value = config[memberOf(name)]
    return typeof value === 'string' ? redactedText(name, value) : value
  })
}

/** @param memberValue returns a value of the setting's type */
function configOf(memberValue: (name: SettingName) => unknown): Config {
  return Object.freeze(Object.fromEntries(settingNames.map((name) => [memberOf(name), memberValue(name)])) as Config)
}

/** Returns a sentence if the two listeners need the same port; undefined if they do not, or if a setting is invalid. */
export function portsProblem({ host, port, adminHost, adminPort }: Partial<Config>): string | undefined {
  if (host === undefined || adminHost === undefined || port === undefined) return undefined
  if (port === 0 || port !== adminPort) return undefined
  const shareAddress = host === adminHost || includesAddress(host, adminHost) || includesAddress(adminHost, host)
  return shareAddress ? '--port and --admin-port must differ' : undefined
}

/** A host may be a wildcard for all addresses of the machine; `::` also covers IPv4 addresses. */
function includesAddress(host: string, other: string): boolean {
  return host === '::' || (host === '0.0.0.0' && !other.includes(':'))
}

function memberOf(name: SettingName): keyof Config {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()) as keyof Config
}

export function redactedText(name: SettingName, text: string): string {
  const { redact }: Setting = settingTable[name]
  return redact?.(text) ?? text
}
