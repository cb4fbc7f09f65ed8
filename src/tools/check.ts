/** The tool behind `topicd check`: one line for every broken invariant, then a last line with the counts. */
import { planSelector } from '../selectors/planner.js'
import type { StoreChecker } from '../store/maintenance.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'
import type { CheckLine, ToolOptions } from './tool-messages.js'

export const checkTool: Tool<ToolOptions['check'], StoreChecker> = async (store, _options, io) => {
  const report = createReport(io)
  let findings = 0
  const onFinding = (finding: string): void => {
    findings++
    // If the line cannot be sent, the signal stops the work.
    void io.emit(JSON.stringify({ finding } satisfies CheckLine)).catch(() => {})
  }
  const { records } = await store.check(
    onFinding,
    planSelector,
    (done, total) => report('checking', done, total),
    io.signal,
  )
  await io.emit(JSON.stringify({ checked: { records, findings } } satisfies CheckLine))
}
