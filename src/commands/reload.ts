/**
 * `topicd reload`: has the running service read its settings again and replace its workers, and waits until that is done.
 */
import { connectToControl, readLine } from '../cluster/control-socket.js'
import { answerIn, type Reloaded, requestLine } from '../cluster/control-protocol.js'
import { environmentName, parseCommandLine, UsageError } from '../config.js'
import { exitCodes, fatal } from '../exit-codes.js'
import { whereOf, whereSettings } from './where.js'

export const reloadHelp = `topicd reload [--data DIR]
    has the running service read its settings again and replace its workers one by one, and waits until that is done; ends
    with 1 and the reason when it was not done, or no service runs`

export async function runReload(args: readonly string[]): Promise<void> {
  const { values, rest } = parseCommandLine(args, { data: whereSettings.data })
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many (see topicd --help)`)
  const { data } = whereOf(values)
  const socket = await connectToControl(data)
  if (socket === undefined) fatal(exitCodes.failed, `no service runs on the data directory ${data}`)
  socket.write(`${requestLine({ command: 'reload' })}\n`)
  const line = await readLine(socket).catch(() => fatal(exitCodes.failed, 'the service ended before the reload was done'))
  socket.destroy()
  let reloaded: Reloaded
  try {
    reloaded = answerIn(line) as Reloaded
  } catch (error) {
    fatal(exitCodes.failed, `not reloaded: ${(error as Error).message}`)
  }
  const { workers, tookMs, restartNeeded } = reloaded
  for (const name of restartNeeded) process.stderr.write(`topicd: ${environmentName(name)} has changed; that takes a restart\n`)
  process.stdout.write(`${workers} ${workers === 1 ? 'worker' : 'workers'} replaced in ${(tookMs / 1000).toFixed(1)} s\n`)
}
