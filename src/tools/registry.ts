/**
 * The tools by the names that requests use. No other file imports all of them. The options of each are in
 * cluster/control/messages.ts.
 */
import { backupTool } from './backup.js'
import { checkTool } from './check.js'
import { exportTool } from './export.js'
import { importTool } from './import.js'
import type { Tool } from './tool.js'

const tools: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ['backup', backupTool],
  ['check', checkTool],
  ['export', exportTool],
  ['import', importTool],
])

/** @throws Error when there is no tool of that name */
export function toolOf(name: string): Tool {
  const tool = tools.get(name)
  if (tool === undefined) throw new Error(`there is no tool ${JSON.stringify(name)}`)
  return tool
}
