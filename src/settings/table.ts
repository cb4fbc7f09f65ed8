/**
 * The table of settings: name, accepted values, default and help of each. The service and all commands use it; a new setting
 * is added only here. config.ts resolves the values.
 */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseAddress, redactAddress } from './address.js'
import { usableCores } from './cores.js'
import { changesKeptDefault, pageBytesMaxMax } from './limits.js'
import { parseOrigins } from './origins.js'
import { quoted } from './quoted.js'

/** The reason why a value is invalid, as the rest of a sentence that starts with "it". */
export interface Problem {
  readonly problem: string
}

/** A setting, or a flag of a command. */
export interface Setting {
  readonly help: string
  readonly kind: 'text' | 'number' | 'switch'
  /** For the kind `text`: the placeholder in the help. */
  readonly value?: string
  /** If empty, a command's flag is undefined unless it is given. */
  readonly default: string
  readonly min?: number
  readonly max?: number
  /** It may be repeated; only for flags of a command. */
  readonly isList?: boolean
  readonly needsRestart?: boolean
  /** Only for the kind `text`; by default, the value is the string itself. */
  readonly parse?: (text: string) => unknown
  /** Hides secrets in the text. */
  readonly redact?: (text: string) => string
}

export type Settings = Readonly<Record<string, Setting>>

/** The type of a row's values; unknown if the row is not known. */
export type ValueOf<Row extends Setting> = Setting extends Row
  ? unknown
  : Row extends { readonly kind: 'number' }
    ? number
    : Row extends { readonly kind: 'switch' }
      ? boolean
      : Row extends { readonly parse: (text: string) => infer Parsed }
        ? Exclude<Parsed, Problem>
        : string

const mebibyte = 1024 * 1024

/** A day at a gigabit per second. Nothing depends on this bound because uploads are streamed. */
const uploadBytesMaxMax = 10_000_000_000_000

/** Each worker costs 60 to 100 MB of memory. */
const workersMax = 64

/** One per usable core, but at least two, so that one serves while another is replaced. */
const workersDefault = Math.min(workersMax, Math.max(2, usableCores()))

/** Each connection may buffer an unfinished head of this size: with this bound, 1.3 GB per worker. */
const headerBytesMaxMax = 64 * 1024

/** An address, or a name in the form that resolvers accept, which includes underscores. */
function parseHost(text: string): string | Problem {
  if (isIP(text) !== 0 || /^[\w.-]+$/.test(text)) return text
  return { problem: 'must be an IP address or a host name, without quotes, a scheme or a port' }
}

function parseDirectory(text: string): string | Problem {
  return text === '' ? { problem: 'must not be empty' } : resolve(text)
}

/** Returns the path without its trailing slash: the root is empty. */
function parseBasePath(text: string): string | Problem {
  return /^\/(?:[\w.~-]+\/)*[\w.~-]*$/.test(text)
    ? text.replace(/\/$/, '')
    : { problem: 'must be a path such as / or /diffusion, made of letters, digits and . _ ~ -' }
}

const host = { kind: 'text', value: 'ADDRESS', default: '127.0.0.1', needsRestart: true, parse: parseHost } as const
const port = { kind: 'number', min: 0, max: 65535, needsRestart: true } as const

/** Every setting. Its flag is its name; its environment variable is TOPICD_ and the name in capitals. */
export const settingTable = {
  host: { ...host, help: 'address to listen on' },
  port: { ...port, default: '8080', help: 'port to listen on; 0 picks one' },
  data: {
    kind: 'text',
    value: 'DIR',
    default: './data',
    help: 'data directory, on a local file system',
    needsRestart: true,
    parse: parseDirectory,
  },
  store: {
    kind: 'text',
    value: 'ADDRESS',
    default: 'lmdb',
    help: 'lmdb, or a postgres:// address, which several hosts can share',
    needsRestart: true,
    parse: parseAddress,
    redact: redactAddress,
  },
  workers: {
    kind: 'number',
    default: String(workersDefault),
    min: 1,
    max: workersMax,
    help: 'worker processes; one per core is best, but at least two, so that one serves while another is replaced',
  },
  'base-path': {
    kind: 'text',
    value: 'PATH',
    default: '/',
    help: 'path before /topics/…',
    parse: parseBasePath,
  },
  'admin-host': { ...host, help: 'address of the admin listener' },
  'admin-port': { ...port, default: '8081', help: 'port of the admin listener; 0 picks one' },
  'header-bytes-max': {
    kind: 'number',
    default: '16384',
    min: 4096,
    max: headerBytesMaxMax,
    help: 'maximum size of the request line and headers together, including cookies of other services on the host',
  },
  'body-bytes-max': {
    kind: 'number',
    default: String(mebibyte),
    min: 1024,
    max: 64 * mebibyte,
    help: 'largest request body; bounds the largest value',
  },
  'upload-bytes-max': {
    kind: 'number',
    default: String(1024 * mebibyte),
    min: 1024,
    max: uploadBytesMaxMax,
    help: 'largest NDJSON upload, which is streamed',
  },
  'page-size-max': { kind: 'number', default: '1000', min: 1, max: 100_000, help: 'maximum size of a fetch page' },
  'page-bytes-max': {
    kind: 'number',
    default: String(8 * mebibyte),
    min: 1024,
    max: pageBytesMaxMax,
    help: 'a page is cut off at this many bytes; also the memory that a slow reader can occupy',
  },
  'batch-operations-max': {
    kind: 'number',
    default: '1000',
    min: 1,
    max: 10_000,
    help: 'maximum operations per batch; each occupies a worker for a few µs',
  },
  'changes-kept': {
    kind: 'number',
    default: String(changesKeptDefault),
    min: 0,
    max: 1_000_000_000,
    help: 'topic changes that the log keeps, about 50 bytes each; 0 keeps only the last commit',
  },
  'changes-listeners-max': {
    kind: 'number',
    default: '5000',
    min: 1,
    max: 100_000,
    help: 'maximum change streams per worker and, separately, maximum waiting polls; each uses a connection',
  },
  'disk-free-bytes-min': {
    kind: 'number',
    default: String(256 * mebibyte),
    min: 8 * mebibyte,
    max: 2 ** 50,
    help: 'with less free space than this, writes that add bytes return 507',
  },
  'drain-ms': {
    kind: 'number',
    default: '10000',
    min: 100,
    max: 600_000,
    help: 'maximum wait for requests in flight when stopping',
  },
  'tls-cert': { kind: 'text', value: 'FILE', default: '', help: 'certificate chain (PEM) for TLS; needs --tls-key' },
  'tls-key': { kind: 'text', value: 'FILE', default: '', help: 'private key (PEM) for TLS; needs --tls-cert' },
  'cors-origins': {
    kind: 'text',
    value: 'ORIGINS',
    default: '',
    help: 'comma-separated origins whose web pages may use the API, such as https://app.example; * for all',
    parse: parseOrigins,
  },
  'fenced-reads': {
    kind: 'switch',
    default: 'false',
    help: 'with PostgreSQL: fetches wait for proof that the server is still the primary; needs a synchronous standby',
  },
  gzip: {
    kind: 'switch',
    default: 'false',
    help: 'gzip pages over 4 KiB for clients that accept it; worthwhile on links of up to about 100 Mbit/s',
  },
  'access-log': { kind: 'switch', default: 'false', help: 'log a line for every request; costs about 6 µs each' },
  'no-console': { kind: 'switch', default: 'false', help: 'do not serve the console, a web page, at /console' },
  'first-key': { kind: 'switch', default: 'false', help: 'if no API key exists, create one and print it' },
  'first-key-file': {
    kind: 'text',
    value: 'FILE',
    default: '',
    help: 'if no API key exists, create one with the token in this file, which needs at least 128 random bits',
  },
  settings: {
    kind: 'text',
    value: 'FILE',
    default: '',
    help: 'file of TOPICD_…=… lines, read at startup and again on SIGHUP',
  },
} as const satisfies Settings

export type SettingName = keyof typeof settingTable

export const settingNames = Object.keys(settingTable) as readonly SettingName[]

/** The environment variable of a setting, which is also its name in the settings file. */
export function environmentName(flag: string): string {
  return `TOPICD_${flag.toUpperCase().replaceAll('-', '_')}`
}

/** @param source of the text; the sentence of a problem starts with it */
export function parseSetting<Row extends Setting>(row: Row, text: string, source: string): ValueOf<Row> | Problem {
  // `parsedText` returns a value of the type that follows from the row's kind and `parse`.
  const value = parsedText(row, text) as ValueOf<Row> | Problem
  return isProblem(value)
    ? { problem: `${source} is ${quoted(row.redact?.(text) ?? text)}; it ${value.problem}` }
    : value
}

export function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'problem' in value
}

function parsedText({ kind, min = 0, max = Number.MAX_SAFE_INTEGER, parse }: Setting, text: string): unknown {
  switch (kind) {
    case 'number':
      return /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
        ? Number(text)
        : { problem: `must be a whole number from ${min} to ${max}` }
    case 'switch':
      return text === 'true' || text === 'false' ? text === 'true' : { problem: 'must be true or false' }
    case 'text':
      return parse === undefined ? text : parse(text)
    default:
      return kind satisfies never
  }
}
