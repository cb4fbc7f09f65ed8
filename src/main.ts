#!/usr/bin/env node
/**
 * The command line as a program: runs the command that commands/dispatch.ts finds, and turns an error into one line on
 * standard error and an exit code.
 */
import { exitCodes } from './base/exit-codes.js'
import { fatal, writeError } from './base/stderr.js'
import { helpHint, runCommand, textFor } from './commands/dispatch.js'
import { OutputClosed, print } from './commands/stdout.js'
import { UsageError } from './settings/config.js'

async function run(words: readonly string[]): Promise<void> {
  const text = await textFor(words)
  await (text === undefined ? runCommand(words) : print(text))
}

const typed = process.argv.slice(2)
if (typed.length === 0) {
  writeError((await textFor(['help'])) ?? '')
  process.exitCode = exitCodes.usage
} else {
  await run(typed).catch((error: Error) => {
    if (error instanceof UsageError) fatal(exitCodes.usage, `${error.message} (see ${helpHint(typed)})`)
    // The reader of standard output, such as head, has read enough.
    if (error instanceof OutputClosed) process.exit(exitCodes.done)
    fatal(exitCodes.failed, error.message)
  })
}
