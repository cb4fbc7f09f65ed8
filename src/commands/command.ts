/**
 * The type of a command, and the parsing of its arguments, which all commands share. The parsing is strict: before anything
 * is done, an unknown, repeated, missing, superfluous or out-of-bounds argument is a `UsageError`.
 */
import { parseArgs } from 'node:util'
import { suggestion } from '../base/nearest.js'
import { type GivenSettings, UsageError } from '../settings/config.js'
import { quoted, redacted } from '../settings/quoted.js'
import {
  isProblem,
  parseSetting,
  type Setting,
  type SettingName,
  type Settings,
  settingTable,
  type ValueOf,
} from '../settings/table.js'

export interface Command<Flags extends Settings = Settings> {
  /** One line for the list of commands. */
  readonly summary: string
  /** Further help, as one paragraph; may be empty. */
  readonly details: string
  /** The names of its arguments, each required unless `operandsOptional`. */
  readonly operands: readonly string[]
  /** Operands may be omitted; a missing one is the empty string. */
  readonly operandsOptional?: true
  /** Settings that it accepts as flags. */
  readonly settings: readonly SettingName[]
  /** Its own flags, which have no environment variables. */
  readonly flags: Flags
  /** Does all the work; the exit code is 0 unless `run` sets another or throws. */
  run(call: Call<Flags>): Promise<void>
}

/** The arguments of a command: its flags as values, its settings as strings that settings/config.ts parses. */
interface Call<Flags extends Settings> {
  readonly settings: GivenSettings
  /** A flag that is not given has its default; without a default it is undefined, or an empty list. */
  readonly flags: { readonly [Name in keyof Flags]: FlagValue<Flags[Name]> }
  readonly operand: (name: string) => string
}

type FlagValue<Row extends Setting> = Row extends { readonly isList: true }
  ? readonly ValueOf<Row>[]
  : ValueOf<Row> | (Row extends { readonly default: '' } ? undefined : never)

/** Returns the command unchanged: the types of `run` follow from its flags. */
export function command<const Flags extends Settings>(described: Command<Flags>): Command<Flags> {
  return described
}

export const storeSettings = ['data', 'store', 'settings'] as const satisfies readonly SettingName[]

export const allowUnfinished = {
  kind: 'switch',
  default: 'false',
  help: 'accept an export whose last line is missing or states a different number of lines',
} as const satisfies Setting

export function settingsOf({ settings }: Command): Settings {
  return Object.fromEntries(settings.map((name) => [name, settingTable[name]]))
}

/** @param args without the command's name @throws UsageError if one is invalid */
export function parseCall<Flags extends Settings>(command: Command<Flags>, args: readonly string[]): Call<Flags> {
  const known: Settings = { ...settingsOf(command), ...command.flags }
  const { given, operands } = argumentsOf(args, known)
  const settings: Record<string, string> = {}
  const flags: Record<string, unknown> = {}
  for (const [name, row] of Object.entries(known)) {
    const texts = given.get(name) ?? []
    if (texts.length > 1 && row.isList !== true) {
      throw new UsageError(`--${name} appears ${texts.length} times; give it once`)
    }
    if (name in command.flags) flags[name] = flagValue(name, row, texts)
    else for (const text of texts) settings[name] = text
  }
  checkOperands(command, operands)
  return {
    settings,
    // Each value has the type that its row states.
    flags: flags as Call<Flags>['flags'],
    operand: (name) => operands[command.operands.indexOf(name)] ?? '',
  }
}

/** @throws UsageError if a value is invalid */
function flagValue(name: string, row: Setting, texts: readonly string[]): unknown {
  const all = texts.length > 0 || row.default === '' ? texts : [row.default]
  const values = all.map((text) => {
    const value = parseSetting(row, text, `--${name}`)
    if (isProblem(value)) throw new UsageError(value.problem)
    return value
  })
  return row.isList === true ? values : values[0]
}

/** @returns the values of each flag, in order @throws UsageError for an unknown flag or a missing value */
function argumentsOf(args: readonly string[], known: Settings): { given: Map<string, string[]>; operands: string[] } {
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { kind }]) => [
      name,
      { type: kind === 'switch' ? 'boolean' : 'string' } as const,
    ]),
  )
  // Not strict: the errors of strict parsing suggest no flag.
  const { tokens } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true })
  const given = new Map<string, string[]>()
  const operands: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const setting = Object.hasOwn(known, token.name) ? known[token.name] : undefined
    if (setting === undefined || !token.rawName.startsWith('--')) throw unknownFlag(token.rawName, known)
    if (setting.kind !== 'switch') requireValue(token.rawName, token.value, token.inlineValue)
    given.set(token.name, [...(given.get(token.name) ?? []), token.value ?? 'true'])
  }
  return { given, operands }
}

function unknownFlag(typed: string, known: Settings): UsageError {
  const flags = Object.keys(known).map((name) => `--${name}`)
  return new UsageError(`unknown flag ${redacted(typed)}${suggestion(typed, flags)}`)
}

/** An argument that looks like a flag is not a value, unless it is joined to its flag by "=". */
function requireValue(rawName: string, value: string | undefined, inlineValue: boolean | undefined): void {
  if (value === undefined) throw new UsageError(`${rawName} needs a value`)
  if (inlineValue !== true && /^-./.test(value)) {
    throw new UsageError(`${rawName} needs a value; if the value starts with "-", write ${rawName}=${value}`)
  }
}

function checkOperands({ operands: names, operandsOptional }: Command, operands: readonly string[]): void {
  refuseArguments(operands.slice(names.length))
  if (operandsOptional) return
  const missing = names.find((_, index) => (operands[index] ?? '') === '')
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
}

/** @throws UsageError if there is any argument */
export function refuseArguments([first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`unexpected argument ${quoted(first)}`)
}
