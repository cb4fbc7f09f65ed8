/** `topicd reload`: makes the running service reread its settings and replace its workers, and waits until that is done. */
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
  summary: 'rereads the settings and replaces the workers of the running service',
  details:
    'The service rereads its settings file and replaces its workers one at a time; the command waits until that is done. If it fails, or no service is running, the command prints the reason and exits with status 1.',
  operands: [],
  settings: ['data', 'settings'],
  flags: {},
  async run({ settings }) {
    const { data } = readConfig(settings)
    const socket = await connectToControl(data)
    if (socket === undefined) fatal(exitCodes.failed, `no service is running on the data directory ${data}`)
    socket.write(`${requestLine({ command: 'reload' })}\n`)
    const line = await readLine(socket).catch(() =>
      fatal(exitCodes.failed, 'the service stopped before the reload was complete'),
    )
    socket.destroy()
    let reloaded: Reloaded
    try {
      reloaded = parseResponse('reload', line).response
    } catch (error) {
      fatal(exitCodes.failed, `not reloaded: ${(error as Error).message}`)
    }
    const { workers, versions, primaryVersion, tookMs, restartNeeded } = reloaded
    for (const name of restartNeeded) complain(`${environmentName(name)} has changed; the change needs a restart`)
    if (versions.some((version) => version !== primaryVersion)) {
      complain(`the primary still has version ${primaryVersion}; a restart updates it`)
    }
    const seconds = (tookMs / 1000).toFixed(1)
    await print(
      `${workers} ${workers === 1 ? 'worker' : 'workers'} replaced in ${seconds} s, version ${versions.join(' and ')}\n`,
    )
  },
})
