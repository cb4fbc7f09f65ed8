/**
 * What a selector matches as the lines of an export (`topicd export`), which `topicd import` reads. Values keep every
 * digit. The pages are read one after the other, not from one snapshot.
 */
import type { Client, Item } from '../../../client/index.js'

/** What a browser holds in memory without trouble; `topicd export` writes any number. */
const topicsMax = 100_000
const charactersMax = 100_000_000

interface MatchesFile {
  /** Each with its line feed. */
  readonly lines: readonly string[]
  readonly topics: number
  /** Whether all matches are in it; only then does the last line mark it as complete. */
  readonly isWhole: boolean
}

interface FileOptions {
  /** Topics per request. */
  readonly size: number
  readonly signal: AbortSignal
  /** Told now and then how many topics were read. */
  readonly onProgress: (topics: number) => void
}

/** @throws what the client throws, also for a signal that is aborted */
export async function readMatches(client: Client, selector: string, options: FileOptions): Promise<MatchesFile> {
  const { size, signal, onProgress } = options
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
