/** A selector's matches as lines of an export, which `topicd import` reads, with every digit. Pages are no snapshot. */
import type { Client, Item } from '../../../client/index.js'

/** A browser holds this much without trouble; `topicd export` writes any number. */
const topicsMax = 100_000
const charactersMax = 100_000_000

interface FileOptions {
  /** Topics per request. */
  readonly size: number
  readonly signal: AbortSignal
  /** Called from time to time. */
  readonly onProgress: (topics: number) => void
}

/**
 * @returns lines with their line feeds; `isWhole` if they are all matches: only then does the last line mark them as complete
 * @throws what the client throws, also for a signal that is aborted
 */
export async function readMatches(client: Client, selector: string, { size, signal, onProgress }: FileOptions) {
  const lines: string[] = []
  let characters = 0
  for await (const item of client.walk(selector, { type: 'any', with_properties: true, size, signal })) {
    const line = lineOf(item)
    characters += line.length
    if (lines.length === topicsMax || characters > charactersMax) return { lines, topics: lines.length, isWhole: false }
    lines.push(line)
    if (lines.length % size === 0) onProgress(lines.length)
  }
  const end = `${JSON.stringify({ end: { topics: lines.length, keys: 0 } })}\n`
  return { lines: [...lines, end], topics: lines.length, isWhole: true }
}

function lineOf({ path, type, properties = {}, text }: Item): string {
  const head = `{"path":${JSON.stringify(path)},"type":"${type}","properties":${JSON.stringify(properties)}`
  return `${head}${text === undefined ? '' : `,"value":${text}`}}\n`
}
