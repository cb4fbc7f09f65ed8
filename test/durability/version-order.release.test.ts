/**
 * The version of each topic goes up with every change, also where the topic was removed and created again, while the
 * clock steps back by hours and the writer is killed, the service reloaded, or killed and started again: then nothing
 * but what is stored says which versions were taken.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { hourMs, requireVersionOrder } from '../support/load/version-order.js'
import { type Server, until } from '../support/service/server.js'

t.setTimeout(600_000)

/** A clock that a file sets back, by as many milliseconds as it says. */
const clockSetBackBy = (file: string): string => `
import { readFileSync } from 'node:fs'
import { now as sound } from './sound-clock.js'
export { wallMsOf } from './sound-clock.js'
export const now = () => {
  const moment = sound()
  return { ...moment, wallMs: moment.wallMs - Number(readFileSync(${JSON.stringify(file)}, 'utf8')) }
}
`

async function killWriter(server: Server): Promise<void> {
  const writer = await until('a writer', async () => server.writerPid())
  process.kill(writer, 'SIGKILL')
  await until('the next writer', async () => ![undefined, writer].includes(server.writerPid()) || undefined)
}

t.test('no version goes back or is given twice', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'set-back-ms')
  const program = patchedProgram(join(directory, 'program'), 'base/clock.js', clockSetBackBy(file))
  const last = await requireVersionOrder(t, {
    server: { dataDir: join(directory, 'db'), program },
    setClockBack: (ms) => writeFileSync(file, String(ms)),
    async disturb(server, isLastRound) {
      if (isLastRound) t.match(await server.command('reload'), { code: 0 }, 'it reloads')
      else await killWriter(server)
    },
    removes: true,
    isUnique: true,
  })
  t.ok(Math.min(...last.values()) > Date.now() * 1024 - hourMs * 1024, 'versions went on from the first of them')
})
