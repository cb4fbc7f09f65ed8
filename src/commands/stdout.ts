/**
 * Standard output, the one way of every command: whatever keeps the text from getting there is an error that says so. Text
 * for people about the command itself goes to standard error, and not through here.
 */

/** The reader has gone, such as `head` when it has what it wanted: no failure, but nothing more is to be done. */
export class OutputClosed extends Error {}

// The write itself is told of its failure; the event says nothing more, and unheard it would end the process.
process.stdout.on('error', () => {})

/**
 * Writes, and resolves when the system has taken it all.
 *
 * @throws OutputClosed when the reader has gone
 * @throws Error when it cannot be written
 */
export function print(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error: (Error & { code?: string }) | null | undefined) => {
      if (!error) resolve()
      else if (error.code === 'EPIPE') reject(new OutputClosed())
      else reject(new Error(`standard output cannot be written: ${error.message}`))
    })
  })
}
