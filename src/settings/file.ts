/**
 * Parses the settings file: lines `TOPICD_NAME=value`, blank lines and comments. A value may be quoted with ' or ". Without
 * quotes, a comment starts at a # after white space, so a # within an address belongs to the address. config.ts checks the
 * values.
 */
import { nearest } from '../base/nearest.js'
import { environmentName, settingNames } from './table.js'

export interface SettingsFile {
  /** By variable; lines are counted from 1. */
  readonly texts: ReadonlyMap<string, { readonly text: string; readonly line: number }>
  /** In the order of the lines. */
  readonly problems: readonly string[]
}

const lineForm = /^(?:export\s+)?(?<name>\w+)\s*=(?<rest>.*)$/s

/** A settings file cannot name another settings file. */
const names = settingNames.filter((name) => name !== 'settings').map(environmentName)

/** Parses all lines; an invalid line sets nothing. @param path of the file, for the messages */
export function parseSettingsFile(content: string, path: string): SettingsFile {
  const texts = new Map<string, { text: string; line: number }>()
  const problems: string[] = []
  const lines = content.replace(/^\uFEFF/, '').split(/\r?\n/)
  for (const [index, written] of lines.entries()) {
    if (/^\s*(#.*)?$/.test(written)) continue
    const line = index + 1
    const { name = '', rest = '' } = lineForm.exec(written.trim())?.groups ?? {}
    const value = rest.trimStart()
    const quoted = quotedText(value)
    const text = quoted ?? value.replace(/\s#.*$/s, '').trimEnd()
    const problem = lineProblem(written, name, quoted === undefined ? text : '', texts.get(name))
    if (problem !== undefined) problems.push(`${path} line ${line}: ${problem}`)
    else texts.set(name, { text, line })
  }
  return { texts, problems }
}

/** Returns the text of a quoted value, which only a comment may follow; undefined for any other value. */
function quotedText(value: string): string | undefined {
  const [quote = ''] = value
  if (quote !== '"' && quote !== "'") return undefined
  for (let end = value.indexOf(quote, 1); end !== -1; end = value.indexOf(quote, end + 1)) {
    if (/^\s*(?:#|$)/.test(value.slice(end + 1))) return value.slice(1, end)
  }
  return undefined
}

/**
 * @param name empty if the line does not have the form of a setting
 * @param plain a value without quotes; empty for one in quotes
 */
function lineProblem(
  written: string,
  name: string,
  plain: string,
  earlier: { readonly line: number } | undefined,
): string | undefined {
  // The whole line is not shown, because it may contain a password.
  if (name === '') return `${JSON.stringify(written.trim().split(/[=:@]/)[0])} is not followed by "=" and a value`
  if (!names.includes(name)) return unknownVariable(name, names)
  if (earlier !== undefined) return `${name} is already set in line ${earlier.line}`
  if (/^["']/.test(plain)) return `the value of ${name} starts with a quote but does not end with one`
  return undefined
}

/** Returns a sentence that suggests the setting that was probably meant. */
export function unknownVariable(name: string, known: readonly string[]): string {
  const typed = name.toUpperCase()
  const begun = typed.startsWith('TOPICD_') ? undefined : nearest(typed, known)
  // The common prefix must not make all names similar.
  const bare = (text: string): string => text.replace(/^TOPICD_/, '')
  const named = nearest(bare(typed), known.map(bare))
  const meant = begun ?? known.find((each) => bare(each) === named)
  return `${name} is not a setting${meant === undefined ? '' : `; did you mean ${meant}?`}`
}
