/**
 * The tool behind `topicd export`: one line of JSON per topic, in tree order and from one consistent snapshot. Values keep
 * the text in which they were sent. On request, API keys precede the topics, without their tokens, which are not stored.
 *
 *     {"path":"a/b","type":"json","properties":{},"value":1.10}
 *
 * The last line states the number of lines before it, so that a truncated export can be detected.
 *
 * Times are not exported: the REMOVAL policy of an imported topic counts from its import.
 */
import { waitForSlice } from '../base/time-slices.js'
import type { Plan } from '../selectors/plan.js'
import { planSelector } from '../selectors/planner.js'
import type { KeyReader } from '../store/api-keys.js'
import { StoreUnusable } from '../store/errors.js'
import type { StoreMonitor } from '../store/monitoring.js'
import type { TopicWalker, WholeTopic } from '../store/topics.js'
import { everyTopic } from '../topics/range.js'
import type { EndLine, KeyLine } from './export-format.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'
import type { ExportOptions } from './tool-messages.js'

/** Lines are sent in chunks of this size; larger ones are no faster. */
const chunkBytes = 64 * 1024

export const exportTool: Tool<
  ExportOptions,
  TopicWalker & Pick<KeyReader, 'readKeys'> & Pick<StoreMonitor, 'stats'>
> = async (store, { selector, withKeys }, io) => {
  const plan = planOf(selector)
  const report = createReport(io)
  const total = selector === undefined ? (await store.stats()).topics : undefined
  const keys = withKeys ? await store.readKeys() : []
  for (const { name, tokenHash, allow, under, madeMs, expiresMs, rate, former } of keys) {
    await io.emit(
      JSON.stringify({ key: { name, tokenHash, allow, under, madeMs, expiresMs, rate, former } } satisfies KeyLine),
    )
  }
  let lines: Buffer[] = []
  let bytes = 0
  let topics = 0
  async function flush(): Promise<void> {
    if (bytes === 0) return
    // `emit` adds the last line feed.
    await io.emit(Buffer.concat(lines, bytes - 1))
    lines = []
    bytes = 0
    report('exporting', topics, total)
    await waitForSlice()
  }
  try {
    for await (const topic of store.walk(plan, io.signal)) {
      const line = lineOf(topic)
      lines.push(line)
      bytes += line.length
      topics++
      if (bytes >= chunkBytes) await flush()
    }
  } catch (error) {
    // Write the topics read so far: all except unreadable ones, or all before a damaged page.
    if (error instanceof StoreUnusable) await flush()
    throw error
  }
  await flush()
  await io.emit(JSON.stringify({ end: { topics, keys: keys.length } } satisfies EndLine))
}

function planOf(selector: string | undefined): Plan {
  if (selector === undefined) return { ranges: [everyTopic], matcher: undefined }
  const plan = planSelector(selector)
  if ('problem' in plan) throw new Error(`--selector ${plan.problem}`)
  return plan
}

/** The line of a topic, including its line feed. */
function lineOf({ path, type, properties, valueText }: WholeTopic): Buffer {
  const head = `{"path":${JSON.stringify(path)},"type":"${type}","properties":${JSON.stringify(properties)}`
  if (valueText === undefined) return Buffer.from(`${head}}\n`)
  return Buffer.concat([Buffer.from(`${head},"value":`), valueText, Buffer.from('}\n')])
}
