/**
 * The tool behind `topicd check`: every broken invariant as a line, then a last line with the counts.
 */
import type { Tool } from './tool.js'

/** A line of the check's answer. */
export type CheckLine = { readonly finding: string } | { readonly checked: { readonly records: number; readonly findings: number } }

export const checkTool: Tool = async (store, _options, io) => {
  let findings = 0
  const { records } = await store.check((finding) => {
    findings++
    void io.emit(JSON.stringify({ finding } satisfies CheckLine))
  })
  await io.emit(JSON.stringify({ checked: { records, findings } } satisfies CheckLine))
}
