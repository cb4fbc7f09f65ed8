/**
 * What a command is, and how its arguments become what it runs with. The parsing is strict: whatever is unknown, repeated,
 * missing, superfluous or out of bounds is a `UsageError`, before anything is done.
 */
import { parseArgs } from 'node:util'
import { type GivenSettings, UsageError } from '../config.js'
import { suggestion } from '../nearest.js'
import { quoted, redacted } from '../quoted.js'
import { type SettingName, type Settings, settingProblem, settingTable } from '../settings.js'

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  /** What a person should know beyond that; a paragraph, or empty. */
  readonly details: string
  /** The names of its arguments, each required. */
  readonly operands: readonly string[]
  /** The settings that it takes as flags. */
  readonly settings: readonly SettingName[]
  /** Its own flags, which have no variables. */
  readonly flags: Settings
  /** Runs to the end of what was asked for; the exit code is 0 unless it sets another or throws. */
  run(call: Call): Promise<void>
}

/** The arguments of a command, checked, except for the settings' texts, which config.ts checks. */
export interface Call {
  readonly settings: GivenSettings
  /** The text of each of the command's own flags, its default where it was not given; undefined where that is empty. */
  readonly flags: Readonly<Record<string, string | undefined>>
  /** The texts of the flags that may be repeated. */
  readonly lists: Readonly<Record<string, readonly string[]>>
  readonly operands: readonly string[]
}

/** The settings by which a command finds the topics. */
export const storeSettings = ['data', 'store', 'settings'] as const satisfies readonly SettingName[]

/** The flags of the settings that a command takes, with what they mean. */
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
  const { given, operands } = tokensOf(args, known)
  const settings: Record<string, string> = {}
  const flags: Record<string, string | undefined> = {}
  const lists: Record<string, readonly string[]> = {}
  for (const [name, setting] of Object.entries(known)) {
    const texts = given.get(name) ?? []
    if (texts.length > 1 && setting.isList !== true) {
      throw new UsageError(`--${name} is given ${texts.length} times; it may be given once`)
    }
    const problem = texts.map((text) => settingProblem(setting, text, `--${name}`)).find((found) => found !== undefined)
    if (name in command.flags) {
      if (problem !== undefined) throw new UsageError(problem)
      if (setting.isList === true) lists[name] = texts
      else flags[name] = texts[0] ?? (setting.default === '' ? undefined : setting.default)
    } else if (texts.length === 1) settings[name] = texts[0]
  }
  checkOperands(command.operands, operands)
  return { settings, flags, lists, operands }
}

function tokensOf(args: readonly string[], known: Settings): { given: Map<string, string[]>; operands: string[] } {
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { kind }]) => [
      name,
      { type: kind === 'switch' ? 'boolean' : 'string' } as const,
    ]),
  )
  // Not strict: the messages of strict parsing name no flag that was meant.
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

/** What looks like the next flag is not taken for a value, unless it is joined to its own flag by "=". */
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

function checkOperands(names: readonly string[], operands: readonly string[]): void {
  if (operands.length > names.length) throw new UsageError(`unexpected argument ${quoted(operands[names.length])}`)
  const missing = names.find((_, index) => (operands[index] ?? '') === '')
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
}
