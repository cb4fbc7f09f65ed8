/** A selector's matches, with every digit, in the export format that `topicd import` reads. Not a snapshot. */
import type { Client, Item } from '../../../client/index.js'

/** Limits that every browser can handle; `topicd export` has none. */
const topicsMax = 100_000
const charactersMax = 100_000_000

interface FileOptions {
  /** Topics per request. */
  readonly size: number
  readonly signal: AbortSignal
  /** Called after each request, with the number of topics so far. */
  readonly onProgress: (topics: number) => void
}

/**
 * @returns lines with line feeds; `isWhole` is true if they contain all matches; only then does the last line mark the file as complete
 * @throws the client's errors, and the signal's reason once it is aborted
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
