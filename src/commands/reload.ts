/** `topicd reload`: has the running service read its settings again and replace its workers, and waits for the end. */
import { exitCodes } from '../base/exit-codes.js'
import { complain, fatal } from '../base/stderr.js'
import type { Reloaded } from '../cluster/control/messages.js'
import { parseResponse, requestLine } from '../cluster/control/protocol.js'
import { connectToControl, readLine } from '../cluster/control/socket.js'
import { readConfig } from '../settings/config.js'
import { environmentName } from '../settings/table.js'
import { command } from './command.js'
import { print } from './stdout.js'

export const reload = command({
  summary: 'replaces the workers of the running service, with new settings',
  details:
    'The service rereads its settings file and replaces its workers one by one; the command waits until that is done. If that fails, or no service runs, it says why and exits with status 1.',
  operands: [],
  settings: ['data', 'settings'],
  flags: {},
  async run({ settings }) {
    const { data } = readConfig(settings)
    const socket = await connectToControl(data)
    if (socket === undefined) fatal(exitCodes.failed, `no service runs on the data directory ${data}`)
    socket.write(`${requestLine({ command: 'reload' })}\n`)
    const line = await readLine(socket).catch(() =>
      fatal(exitCodes.failed, 'the service stopped before the reload was done'),
    )
    socket.destroy()
    let reloaded: Reloaded
    try {
      reloaded = parseResponse('reload', line).response
    } catch (error) {
      fatal(exitCodes.failed, `not reloaded: ${(error as Error).message}`)
    }
    const { workers, versions, primaryVersion, tookMs, restartNeeded } = reloaded
    for (const name of restartNeeded) complain(`${environmentName(name)} has changed, which needs a restart`)
    if (versions.some((version) => version !== primaryVersion)) {
      complain(`the primary stays at version ${primaryVersion} until a restart`)
    }
    const seconds = (tookMs / 1000).toFixed(1)
    await print(
      `${workers} ${workers === 1 ? 'worker' : 'workers'} replaced in ${seconds} s, version ${versions.join(' and ')}\n`,
    )
  },
})
