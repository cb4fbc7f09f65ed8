/**
 * Standard output, the one way of every command: whatever keeps the text from getting there is an error that says so. Text
 * for people about the command itself goes to standard error, and not through here.
 */
import { toolUnreadMsMax } from '../limits.js'

/** The reader has gone, such as `head` when it has what it wanted: no failure, but nothing more is to be done. */
export class OutputClosed extends Error {}

/** Each write is told of its own failure; the event says nothing more, but unheard it would end the process. */
let listening = false

/**
 * Writes, and resolves when the system has taken it all.
 *
 * @throws OutputClosed when the reader has gone
 * @throws Error when it cannot be written, or nothing was taken for a minute
 */
export function print(text: string | Uint8Array): Promise<void> {
  if (!listening) process.stdout.on('error', () => {})
  listening = true
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`nothing was read from standard output for ${toolUnreadMsMax / 1000} s`))
    }, toolUnreadMsMax)
    process.stdout.write(text, (error: (Error & { code?: string }) | null | undefined) => {
      clearTimeout(timer)
      if (!error) resolve()
      else if (error.code === 'EPIPE') reject(new OutputClosed())
      else reject(new Error(`standard output cannot be written: ${error.message}`))
    })
  })
}
