/**
 * `topicd reload`: has the running service read its settings again and replace its workers, and waits until that is done.
 */

import { answerIn, type Reloaded, requestLine } from '../cluster/control-protocol.js'
import { connectToControl, readLine } from '../cluster/control-socket.js'
import { readConfig } from '../config.js'
import { complain, exitCodes, fatal } from '../exit-codes.js'
import { environmentName } from '../settings.js'
import type { Command } from './command.js'
import { print } from './stdout.js'

export const reload: Command = {
  summary: 'replaces the workers of the running service, with new settings',
  details:
    'It has the service read its settings file again and replace its workers one by one, and waits until that is done. It ends with 1 and the reason when that was not done, or no service runs.',
  operands: [],
  settings: ['data', 'settings'],
  flags: {},
  async run({ settings }) {
    const { data } = readConfig(settings)
    const socket = await connectToControl(data)
    if (socket === undefined) fatal(exitCodes.failed, `no service runs on the data directory ${data}`)
    socket.write(`${requestLine({ command: 'reload' })}\n`)
    const line = await readLine(socket).catch(() =>
      fatal(exitCodes.failed, 'the service ended before the reload was done'),
    )
    socket.destroy()
    let reloaded: Reloaded
    try {
      reloaded = answerIn(line) as Reloaded
    } catch (error) {
      fatal(exitCodes.failed, `not reloaded: ${(error as Error).message}`)
    }
    const { workers, versions, primaryVersion, tookMs, restartNeeded } = reloaded
    for (const name of restartNeeded) complain(`${environmentName(name)} has changed; that takes a restart`)
    if (versions.some((version) => version !== primaryVersion)) {
      complain(`the primary goes on as version ${primaryVersion} until a restart`)
    }
    const seconds = (tookMs / 1000).toFixed(1)
    await print(
      `${workers} ${workers === 1 ? 'worker' : 'workers'} replaced in ${seconds} s, version ${versions.join(' and ')}\n`,
    )
  },
}
