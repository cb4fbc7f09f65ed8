/** Keys while the disk is full: a command reports that it changed nothing, and a service's first key waits for space. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from '../support/machines/small-disk.js'
import { type CommandResult, runCommand, Server, startServer, until } from '../support/service/server.js'

const mebibyte = 1024 * 1024
const leastFree = { TOPICD_DISK_FREE_BYTES_MIN: String(16 * mebibyte) }

function smallDisk(t: Test): { disk: SmallDisk; dataDir: string } {
  const disk = mountSmallDisk(t, 64 * mebibyte)
  return { disk, dataDir: join(disk.directory, 'db') }
}

async function isFull({ adminUrl }: Server): Promise<true | undefined> {
  const answer = await fetch(`${adminUrl}/readyz`)
  return (await answer.text()).includes('the disk is nearly full') || undefined
}

t.test('keys add and rotate on a full disk report that they changed nothing', { skip: whyNoSmallDisk() }, async (t) => {
  const { disk, dataDir } = smallDisk(t)
  const server = await startServer(t, { dataDir, env: leastFree })
  const kept = (await server.command('keys', 'add', 'kept')).stdout.trim()
  disk.leaveFree(mebibyte)
  await until('the disk is full', () => isFull(server))

  const said = /^topicd: the disk is nearly full; no key was created; the token printed above is not valid\n$/
  t.match(await server.command('keys', 'add', 'late'), { code: 1, stderr: said })
  const rotated = await server.command('keys', 'rotate', 'kept')
  t.match(rotated, {
    code: 1,
    stderr: /nearly full; the key keeps its token; the token printed above is not valid\n$/,
  })
  t.equal((await server.post('fetch', {}, { token: kept })).status, 400, 'the key keeps its token')
  t.notMatch((await server.command('keys', 'list')).stdout, 'late')

  await server.stop()
  const alone = (): Promise<CommandResult> => runCommand(['keys', 'add', 'later', '--data', dataDir], leastFree)
  t.match(await alone(), { code: 1, stderr: said }, 'while no service runs')
  disk.resize(128 * mebibyte)
  t.equal((await alone()).code, 0, 'once there is space')
})

t.test('a service on a full disk creates its first key once there is space', { skip: whyNoSmallDisk() }, async (t) => {
  const { disk, dataDir } = smallDisk(t)
  const file = join(t.testdir(), 'secret')
  const token = 'fedcba9876543210af3c6b9d52e74081'
  writeFileSync(file, token)
  disk.leaveFree(mebibyte)
  const server = new Server(t, dataDir, { token, env: leastFree, flags: ['--first-key-file', file] })
  t.teardown(() => server.tearDown())
  const listening = server.listening()
  await server.logged('listening')
  await until('the disk is full', () => isFull(server))
  t.equal((await server.post('fetch', {})).status, 401)
  disk.resize(128 * mebibyte)
  await server.logged('first key created')
  await listening
  t.equal((await server.post('fetch', {})).status, 400, 'the token belongs to a key')
})
