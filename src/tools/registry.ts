/** The tools by their names in requests; tool-messages.ts defines their options. No other file imports all tools. */
import type { TopicStore } from '../store/store.js'
import { backupTool } from './backup.js'
import { checkTool } from './check.js'
import { exportTool } from './export.js'
import { importTool } from './import.js'
import { moveTool } from './move.js'
import type { Tool, ToolIo } from './tool.js'
import type { ToolName, ToolOptions, ToolWork } from './tool-messages.js'

const tools: { readonly [Name in ToolName]: Tool<ToolOptions[Name]> } = {
  backup: backupTool,
  check: checkTool,
  export: exportTool,
  import: importTool,
  move: moveTool,
}

/** @throws Error with a message for the user */
export function runTool<Name extends ToolName>(
  store: TopicStore,
  { tool, options }: ToolWork<Name>,
  io: ToolIo,
): Promise<void> {
  return tools[tool](store, options, io)
}
