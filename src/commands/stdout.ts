/**
 * Standard output, for all commands: text that cannot be written is an error with a message that says so. Messages
 * about the command itself go to standard error, not through here.
 */
import { within } from '../base/within.js'
import { toolUnreadMsMax } from '../settings/limits.js'

/** The reader has gone, such as `head` when it has enough: not a failure, but there is nothing more to do. */
export class OutputClosed extends Error {}

/** Each write's callback gets its failure; the event adds nothing, but without a listener it would end the process. */
let listening = false

/**
 * Resolves when the system has accepted all of the text.
 *
 * @throws OutputClosed; Error when the text cannot be written, or nothing was read for a minute
 */
export function print(text: string | Uint8Array): Promise<void> {
  if (!listening) process.stdout.on('error', () => {})
  listening = true
  const written = new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error: (Error & { code?: string }) | null | undefined) => {
      if (!error) resolve()
      else if (error.code === 'EPIPE') reject(new OutputClosed())
      else reject(new Error(`standard output cannot be written: ${error.message}`))
    })
  })
  return within(toolUnreadMsMax, written, () => {
    throw new Error(`nothing was read from standard output for ${toolUnreadMsMax / 1000} s`)
  })
}
