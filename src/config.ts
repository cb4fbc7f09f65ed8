/**
 * Settings: the only reader of argv, of the environment and of the settings file. Everything else gets a frozen `Config`.
 * Whatever is unknown, repeated or out of bounds is a `UsageError` whose message names it: at the start it ends the process
 * with exit code 2, at a reload the old settings stay.
 *
 * A flag wins over the environment, the environment over the settings file, that over the default.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs, parseEnv } from 'node:util'

/** The command line, the environment or the settings file is wrong; the message is for the person who wrote it. */
export class UsageError extends Error {}

/** One setting: how it is spelled, what it may be, and what a person should know before changing it. */
interface Setting {
  readonly help: string
  readonly kind: 'text' | 'number' | 'switch'
  readonly default: string
  readonly min?: number
  readonly max?: number
  readonly check?: (text: string) => string | undefined
}

const mebibyte = 1024 * 1024

/** The settings of `serve`; the flag is the name, the environment name TOPICD_ and the name in capitals. */
export const serveSettings = {
  host: { kind: 'text', default: '127.0.0.1', help: 'address to listen on' },
  port: { kind: 'number', default: '8080', min: 0, max: 65535, help: 'port to listen on; 0 picks one' },
  data: { kind: 'text', default: './data', help: 'data directory, on a local file system' },
  store: {
    kind: 'text',
    default: 'lmdb',
    help: 'lmdb, or a postgres:// address that several hosts share',
    check: (text) => (text === 'lmdb' || /^postgres(ql)?:\/\//.test(text) ? undefined : 'lmdb or postgres://…'),
  },
  workers: {
    kind: 'number',
    default: String(availableParallelism()),
    min: 1,
    max: 64,
    help: 'worker processes; one a core is best',
  },
  'base-path': {
    kind: 'text',
    default: '/',
    help: 'path before /topics/…',
    check: (text) => (/^\/([\w.~-]+\/?)*$/.test(text) ? undefined : 'a path such as / or /diffusion'),
  },
  'admin-host': { kind: 'text', default: '127.0.0.1', help: 'address of the admin listener' },
  'admin-port': { kind: 'number', default: '9090', min: 0, max: 65535, help: 'port of the admin listener; 0 picks one' },
  'body-bytes-max': {
    kind: 'number',
    default: String(mebibyte),
    min: 1024,
    max: 64 * mebibyte,
    help: 'largest request body; bounds the largest value',
  },
  'page-size-max': { kind: 'number', default: '1000', min: 1, max: 100_000, help: 'largest size of a fetch page' },
  'page-bytes-max': {
    kind: 'number',
    default: String(8 * mebibyte),
    min: 1024,
    max: 256 * mebibyte,
    help: 'a page ends early at this many bytes; memory a slow reader can hold',
  },
  'disk-free-bytes-min': {
    kind: 'number',
    default: String(256 * mebibyte),
    min: 8 * mebibyte,
    max: 2 ** 50,
    help: 'with less free space, writes that add bytes get 507',
  },
  'drain-ms': { kind: 'number', default: '10000', min: 100, max: 600_000, help: 'longest wait for requests in flight at stop' },
  'tls-cert': { kind: 'text', default: '', help: 'certificate chain (PEM) for TLS; needs --tls-key' },
  'tls-key': { kind: 'text', default: '', help: 'private key (PEM) for TLS; needs --tls-cert' },
  'access-log': { kind: 'switch', default: 'false', help: 'log a line for every request; costs about 6 µs each' },
  'first-key': { kind: 'switch', default: 'false', help: 'while no API key exists, make one and print it' },
  settings: { kind: 'text', default: '', help: 'file of TOPICD_…=… lines, read at start and again on SIGHUP' },
} as const satisfies Record<string, Setting>

/** The resolved settings of `serve`. */
export interface Config {
  readonly host: string
  readonly port: number
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
  readonly firstKey: boolean
  readonly settings: string
}

export type Settings = Readonly<Record<string, Setting>>

/** What was given on the command line: the flags (a text each, or several where allowed) and the rest. */
export interface CommandLine {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly lists: Readonly<Record<string, readonly string[]>>
  readonly rest: readonly string[]
}

/**
 * Parses the arguments of one command.
 *
 * @param settings the flags it knows, each given once at most
 * @param lists the flags it knows that may be repeated
 */
export function parseCommandLine(args: readonly string[], settings: Settings, lists: readonly string[] = []): CommandLine {
  const options: Record<string, { type: 'string' | 'boolean'; multiple: true }> = {}
  for (const [name, { kind }] of Object.entries(settings)) {
    options[name] = { type: kind === 'switch' ? 'boolean' : 'string', multiple: true }
  }
  for (const name of lists) options[name] = { type: 'string', multiple: true }
  let parsed: { values: Record<string, unknown>; positionals: string[] }
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('\n')[0]} (see topicd --help)`)
  }
  const values: Record<string, string | undefined> = {}
  for (const name of Object.keys(settings)) {
    const given = (parsed.values[name] ?? []) as readonly (string | boolean)[]
    if (given.length > 1) throw new UsageError(`--${name} is given ${given.length} times; it may be given once`)
    values[name] = given.length === 0 ? undefined : String(given[0])
  }
  const listed = Object.fromEntries(lists.map((name) => [name, (parsed.values[name] ?? []) as string[]]))
  return { values, lists: listed, rest: parsed.positionals }
}

export function environmentName(flag: string): string {
  return `TOPICD_${flag.toUpperCase().replaceAll('-', '_')}`
}

/** The texts of all settings, each from the first source that gives it, and checked. */
function resolveSettings(settings: Settings, flags: CommandLine['values'], file: NodeJS.Dict<string>): Record<string, string> {
  const resolved: Record<string, string> = {}
  for (const [name, setting] of Object.entries(settings)) {
    const environment = environmentName(name)
    const sources: readonly (readonly [string, string | undefined])[] = [
      [`--${name}`, flags[name]],
      [environment, process.env[environment]],
      [`${environment} in the settings file`, file[environment]],
      [`--${name}`, setting.default],
    ]
    const [source, text] = sources.find(([, given]) => given !== undefined) as readonly [string, string]
    const problem = settingProblem(setting, text)
    if (problem !== undefined) throw new UsageError(`${source} is ${JSON.stringify(text)}; it must be ${problem}`)
    resolved[name] = text
  }
  return resolved
}

/** What the text should be instead; undefined when it is right. */
function settingProblem({ kind, min = 0, max = 0, check }: Setting, text: string): string | undefined {
  switch (kind) {
    case 'number':
      return /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max ? undefined : `a number from ${min} to ${max}`
    case 'switch':
      return text === 'true' || text === 'false' ? undefined : 'true or false'
    case 'text':
      return check?.(text)
  }
}

/** The environment names that the settings file may hold. */
function readSettingsFile(path: string): NodeJS.Dict<string> {
  if (path === '') return {}
  let file: NodeJS.Dict<string>
  try {
    file = parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(`the settings file can not be read: ${(error as Error).message}`)
  }
  const known = new Set(Object.keys(serveSettings).map(environmentName))
  const unknown = Object.keys(file).find((name) => !known.has(name))
  if (unknown !== undefined) throw new UsageError(`the settings file ${path} names ${unknown}, which is no setting`)
  return file
}

/**
 * The settings of `serve`, resolved and frozen. May be called again: the settings file is then read anew.
 *
 * @throws UsageError when one is wrong
 */
export function readConfig(flags: CommandLine['values']): Config {
  const file = readSettingsFile(flags.settings ?? process.env[environmentName('settings')] ?? '')
  const texts = resolveSettings(serveSettings, flags, file)
  if ((texts['tls-cert'] === '') !== (texts['tls-key'] === '')) {
    throw new UsageError('--tls-cert and --tls-key must be given together')
  }
  return Object.freeze({
    host: texts.host,
    port: Number(texts.port),
    data: resolve(texts.data),
    store: texts.store,
    workers: Number(texts.workers),
    basePath: texts['base-path'].replace(/\/$/, ''),
    adminHost: texts['admin-host'],
    adminPort: Number(texts['admin-port']),
    bodyBytesMax: Number(texts['body-bytes-max']),
    pageSizeMax: Number(texts['page-size-max']),
    pageBytesMax: Number(texts['page-bytes-max']),
    diskFreeBytesMin: Number(texts['disk-free-bytes-min']),
    drainMs: Number(texts['drain-ms']),
    tlsCert: texts['tls-cert'],
    tlsKey: texts['tls-key'],
    accessLog: texts['access-log'] === 'true',
    firstKey: texts['first-key'] === 'true',
    settings: texts.settings,
  })
}

/** One line a setting: flag, environment name, what it does, default and bounds. */
export function settingsHelp(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, { kind, help, min, max, default: usual }]) => {
      const flag = kind === 'switch' ? `--${name}` : `--${name} ${kind === 'number' ? 'N' : 'TEXT'}`
      const bounds = kind === 'number' ? `, ${min} to ${max}` : ''
      const shown = usual === '' ? 'none' : usual
      return `  ${flag.padEnd(27)} ${environmentName(name)}\n      ${help} (default ${shown}${bounds})`
    })
    .join('\n')
}
