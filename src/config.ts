/**
 * Settings resolved: the only reader of the environment and of the settings file. Everything else gets a frozen `Config`.
 * Whatever is unknown, repeated or out of bounds is a `UsageError` whose message names it: at the start it ends the process
 * with exit code 2, at a reload the old settings stay.
 *
 * A flag wins over the environment, the environment over the settings file, that over the default.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  environmentName,
  type Setting,
  type SettingName,
  settingNames,
  settingProblem,
  settingTable,
} from './settings.js'
import { parseSettingsFile, type SettingsFile, unknownVariable } from './settings-file.js'

/** The command line, the environment or the settings file is wrong; the message is for the person who wrote it. */
export class UsageError extends Error {}

/** The settings, of the right type and within their bounds. */
export interface Config {
  readonly host: string
  readonly port: number
  /** An absolute path. */
  readonly data: string
  readonly store: string
  readonly workers: number
  /** Without a trailing slash; empty for none. */
  readonly basePath: string
  readonly adminHost: string
  readonly adminPort: number
  readonly bodyBytesMax: number
  readonly pageSizeMax: number
  readonly pageBytesMax: number
  readonly diskFreeBytesMin: number
  readonly drainMs: number
  readonly tlsCert: string
  readonly tlsKey: string
  readonly accessLog: boolean
  readonly fencedReads: boolean
  readonly firstKey: boolean
  readonly settings: string
}

/** The texts of the settings that were given as flags. */
export type GivenSettings = Readonly<Partial<Record<SettingName, string>>>

/** A setting's text, unchecked, and where it is from. */
export interface Resolved {
  readonly text: string
  /** `--port`, `TOPICD_PORT`, `/etc/topicd/topicd.env line 3` or `default`. */
  readonly from: string
}

export interface Resolution {
  readonly settings: Readonly<Record<SettingName, Resolved>>
  /** Everything that is wrong, a sentence each. */
  readonly problems: readonly string[]
}

const variables = settingNames.map(environmentName)

/** Each setting from the first source that gives it. */
export function resolveSettings(flags: GivenSettings): Resolution {
  const problems = Object.keys(process.env)
    .filter((name) => name.toUpperCase().startsWith('TOPICD_') && !variables.includes(name))
    .map((name) => unknownVariable(name, variables))
  const path = flags.settings ?? process.env[environmentName('settings')] ?? settingTable.settings.default
  const file = readSettingsFile(path)
  problems.push(...file.problems)
  const resolved: Partial<Record<SettingName, Resolved>> = {}
  for (const name of settingNames) {
    const [found, ...overridden] = textsOf(name, flags, file, path)
    // A wrong line of the file is wrong though something wins over it; it would come to light at the worst moment.
    const checked = [found, ...overridden.filter(({ isInFile }) => isInFile)]
    problems.push(...checked.flatMap(({ text, source }) => settingProblem(settingTable[name], text, source) ?? []))
    resolved[name] = found
  }
  const settings = resolved as Record<SettingName, Resolved>
  if ((settings['tls-cert'].text === '') !== (settings['tls-key'].text === '')) {
    problems.push('--tls-cert and --tls-key must be given together')
  }
  return { settings, problems }
}

interface Source extends Resolved {
  /** The source as the subject of a sentence. */
  readonly source: string
  readonly isInFile: boolean
}

/** A setting's texts, the one that wins first, the default last. */
function textsOf(
  name: SettingName,
  flags: GivenSettings,
  { texts }: SettingsFile,
  path: string,
): [Source, ...Source[]] {
  const flag = flags[name]
  const variable = environmentName(name)
  const given = process.env[variable]
  const written = texts.get(variable)
  const sources: Source[] = []
  if (flag !== undefined) sources.push({ text: flag, from: `--${name}`, source: `--${name}`, isInFile: false })
  if (given !== undefined) sources.push({ text: given, from: variable, source: variable, isInFile: false })
  if (written !== undefined) {
    const from = `${path} line ${written.line}`
    sources.push({ text: written.text, from, source: `${from}: ${variable}`, isInFile: true })
  }
  const usual = { text: settingTable[name].default, from: 'default', source: `--${name}`, isInFile: false }
  const [first = usual, ...others] = sources
  return [first, ...others, usual]
}

function readSettingsFile(path: string): SettingsFile {
  if (path === '') return { texts: new Map(), problems: [] }
  try {
    return parseSettingsFile(readFileSync(path, 'utf8'), path)
  } catch (error) {
    return { texts: new Map(), problems: [`the settings file ${path} cannot be read: ${(error as Error).message}`] }
  }
}

/**
 * The settings, resolved and frozen. May be called again: the settings file is then read again.
 *
 * @throws UsageError when one is wrong
 */
export function readConfig(flags: GivenSettings): Config {
  const { settings, problems } = resolveSettings(flags)
  if (problems.length > 0) throw new UsageError(problems[0])
  const text = (name: SettingName): string => settings[name].text
  return Object.freeze({
    host: text('host'),
    port: Number(text('port')),
    data: resolve(text('data')),
    store: text('store'),
    workers: Number(text('workers')),
    basePath: text('base-path').replace(/\/$/, ''),
    adminHost: text('admin-host'),
    adminPort: Number(text('admin-port')),
    bodyBytesMax: Number(text('body-bytes-max')),
    pageSizeMax: Number(text('page-size-max')),
    pageBytesMax: Number(text('page-bytes-max')),
    diskFreeBytesMin: Number(text('disk-free-bytes-min')),
    drainMs: Number(text('drain-ms')),
    tlsCert: text('tls-cert'),
    tlsKey: text('tls-key'),
    accessLog: text('access-log') === 'true',
    fencedReads: text('fenced-reads') === 'true',
    firstKey: text('first-key') === 'true',
    settings: text('settings'),
  })
}

/** What of a setting's text may be shown. */
export function redactedText(name: SettingName, text: string): string {
  const { redact }: Setting = settingTable[name]
  return redact?.(text) ?? text
}
