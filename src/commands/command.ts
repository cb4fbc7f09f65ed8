/**
 * What a command is, and how its arguments are parsed and checked, for all commands alike. The parsing is strict:
 * anything unknown, repeated, missing, superfluous or out of bounds is a `UsageError`, before anything is done.
 */
import { parseArgs } from 'node:util'
import { suggestion } from '../base/nearest.js'
import { type GivenSettings, UsageError } from '../settings/config.js'
import { quoted, redacted } from '../settings/quoted.js'
import { type Setting, type SettingName, type Settings, settingProblem, settingTable } from '../settings/table.js'

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  /** Further help, as one paragraph; may be empty. */
  readonly details: string
  /** The names of its arguments, each required unless `operandsOptional`. */
  readonly operands: readonly string[]
  /** Whether the operands may be missing; a missing one is the empty text. */
  readonly operandsOptional?: true
  /** The settings that it takes as flags. */
  readonly settings: readonly SettingName[]
  /** Its own flags, which have no environment variables. */
  readonly flags: Settings
  /** Does all of the work; the exit code is 0 unless it sets another or throws. */
  run(call: Call): Promise<void>
}

/** The arguments of a command, checked, except for the settings' texts, which settings/config.ts checks. */
interface Call {
  readonly settings: GivenSettings
  /** The text of each of the command's own flags, or its default if it was not given; undefined if that is empty. */
  readonly flags: Readonly<Record<string, string | undefined>>
  /** The texts of a flag that may be repeated. */
  readonly list: (flag: string) => readonly string[]
  /** The text of one of the command's operands. */
  readonly operand: (name: string) => string
}

/** The settings that say where the topics are stored. */
export const storeSettings = ['data', 'store', 'settings'] as const satisfies readonly SettingName[]

/** The flag of the commands that read an export. */
export const allowUnfinished = {
  kind: 'switch',
  default: 'false',
  help: 'the last line of an export may be missing, or count lines that were left out',
} as const satisfies Setting

/** The settings that a command takes as flags. */
export function settingsOf({ settings }: Command): Settings {
  return Object.fromEntries(settings.map((name) => [name, settingTable[name]]))
}

/**
 * Parses the arguments that follow a command's name.
 *
 * @throws UsageError when one is wrong
 */
export function parseCall(command: Command, args: readonly string[]): Call {
  const known: Settings = { ...settingsOf(command), ...command.flags }
  const { given, operands } = argumentsOf(args, known)
  const settings: Record<string, string> = {}
  const flags: Record<string, string | undefined> = {}
  const lists: Record<string, readonly string[]> = {}
  for (const [name, setting] of Object.entries(known)) {
    const texts = given.get(name) ?? []
    if (texts.length > 1 && setting.isList !== true) {
      throw new UsageError(`--${name} is given ${texts.length} times; it may be given once`)
    }
    const [problem] = texts.flatMap((text) => settingProblem(setting, text, `--${name}`) ?? [])
    if (name in command.flags) {
      if (problem !== undefined) throw new UsageError(problem)
      if (setting.isList === true) lists[name] = texts
      else flags[name] = texts[0] ?? (setting.default === '' ? undefined : setting.default)
    } else {
      for (const text of texts) settings[name] = text
    }
  }
  checkOperands(command, operands)
  return {
    settings,
    flags,
    list: (flag) => lists[flag] ?? [],
    operand: (name) => operands[command.operands.indexOf(name)] ?? '',
  }
}

/** What was given for each flag, in order, and the operands. @throws UsageError for an unknown flag or a missing value */
function argumentsOf(args: readonly string[], known: Settings): { given: Map<string, string[]>; operands: string[] } {
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { kind }]) => [
      name,
      { type: kind === 'switch' ? 'boolean' : 'string' } as const,
    ]),
  )
  // Not strict: the messages of strict parsing suggest no flag.
  const { tokens } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true })
  const given = new Map<string, string[]>()
  const operands: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const setting = Object.hasOwn(known, token.name) ? known[token.name] : undefined
    if (setting === undefined || !token.rawName.startsWith('--')) throw unknownFlag(token.rawName, known)
    if (setting.kind !== 'switch') requireValue(token)
    given.set(token.name, [...(given.get(token.name) ?? []), token.value ?? 'true'])
  }
  return { given, operands }
}

function unknownFlag(typed: string, known: Settings): UsageError {
  return new UsageError(
    `unknown flag ${redacted(typed)}${suggestion(
      typed,
      Object.keys(known).map((name) => `--${name}`),
    )}`,
  )
}

/** An argument that looks like a flag is not a value, unless it is joined to its flag by "=". */
function requireValue(token: {
  readonly rawName: string
  readonly value?: string
  readonly inlineValue?: boolean
}): void {
  const { rawName, value, inlineValue } = token
  if (value === undefined) throw new UsageError(`${rawName} needs a value`)
  if (inlineValue !== true && /^-./.test(value)) {
    throw new UsageError(`${rawName} needs a value; one that begins with "-" is written ${rawName}=${value}`)
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
