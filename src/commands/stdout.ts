/**
 * Standard output of all commands. A failed write is an error with a message for the user. Messages about the command
 * itself go to standard error (base/stderr.ts).
 */
import { within } from '../base/within.js'
import { toolUnreadMsMax } from '../settings/limits.js'

/** The reader closed the pipe, as `head` does once it has enough: not a failure, but nothing is left to do. */
export class OutputClosed extends Error {}

/** Each write reports its failure to its callback. The `error` event adds nothing, but ends the process if it has no listener. */
let listening = false

/**
 * Resolves once the system has accepted all of the text.
 *
 * @throws OutputClosed; Error if the text cannot be written, or nothing is read for a minute
 */
export function print(text: string | Uint8Array): Promise<void> {
  if (!listening) process.stdout.on('error', () => {})
  listening = true
  const written = new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error: (Error & { code?: string }) | null | undefined) => {
      if (!error) resolve()
      else if (error.code === 'EPIPE') reject(new OutputClosed())
      else reject(new Error(`cannot write to standard output: ${error.message}`))
    })
  })
  return within(toolUnreadMsMax, written, () => {
    throw new Error(`nothing was read from standard output for ${toolUnreadMsMax / 1000} s`)
  })
}
