/**
 * An interrupted export releases its snapshot. A snapshot that stays open keeps every page that is freed later from being reused, so the
 * store's file grows with each overwrite, without limit.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { only } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { runCommand, type Server, startServer } from '../support/service/server.js'
import { begun, gone, type Running, startCommand, toolOf } from '../support/service/tool-client.js'

const mebibyte = 1024 * 1024

/** More than a pipe and a socket hold, so an unread export cannot finish. */
const topics = 4000
const value = 'x'.repeat(1000)

/** Overwrites in one round: at least 2 MB of pages if none of them can be reused. */
const overwrites = 600
const clients = 16

/** Maximum growth of the file in a round if freed pages are reused. */
const steadyBytesMax = mebibyte

const directory = t.testdir()
let directories = 0

const sizeOf = ({ dataDir }: Server): number => statSync(join(dataDir, 'topics', 'data.mdb')).size

async function fill(server: Server): Promise<void> {
  const lines = Array.from({ length: topics }, (_, i) => `{"path":"t/${i}","value":"${value}"}\n`)
  const args = ['import', '--allow-unfinished', '--data', server.dataDir]
  const { code, stderr } = await runCommand(args, {}, lines.join(''))
  if (code !== 0) throw new Error(stderr)
}

/** Overwrites topics in one round; returns the growth of the store's file. */
async function growth(server: Server): Promise<number> {
  const before = sizeOf(server)
  await Promise.all(
    Array.from({ length: clients }, async (_, lane) => {
      const client = server.connect()
      for (let i = lane; i < overwrites; i += clients) {
        const { status, text } = await client.post('set', { path: `t/${(i * 37) % topics}`, value: `${value}${i}` })
        if (status !== 200) throw new Error(text)
      }
    }),
  )
  return sizeOf(server) - before
}

/** A server whose file has enough free pages for a round of overwrites. */
async function steadyServer(t: Test, program?: string): Promise<Server> {
  const server = await startServer(t, { workers: 2, program, dataDir: join(directory, String(++directories)) })
  await fill(server)
  for (let round = 0; round < 2; round++) await growth(server)
  return server
}

const exportOf = (t: Test, dataDir: string, program?: string): Running =>
  startCommand(t, ['export', '--data', dataDir], program)

await t.test('an interrupted export releases its snapshot in the service', { timeout: 600_000 }, async (t) => {
  const server = await steadyServer(t)

  async function checkInterrupted(t: Test, how: (running: Running) => void): Promise<void> {
    const running = exportOf(t, server.dataDir)
    await begun(running)
    const tool = await toolOf(server.pid)
    how(running)
    await running.ended
    await gone(tool)
    const grown = [await growth(server), await growth(server)]
    t.ok(Math.max(...grown) < steadyBytesMax, `the file grew by ${grown.join(' and ')} bytes`)
  }

  await t.test('the store file grows while an export waits for its reader (control)', async (t) => {
    const running = exportOf(t, server.dataDir)
    await begun(running)
    t.ok((await growth(server)) > 2 * steadyBytesMax)
    const tool = await toolOf(server.pid)
    running.child.kill('SIGKILL')
    await gone(tool)
  })

  await t.test('an export closed by its reader leaves no snapshot open and exits with 0', async (t) => {
    const ended: Running[] = []
    await checkInterrupted(t, (running) => {
      ended.push(running)
      running.stdout.destroy()
    })
    t.strictSame(await only(ended).ended, { code: 0, stderr: '' })
  })

  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    await t.test(`an export ended by ${signal} leaves no snapshot open`, (t) =>
      checkInterrupted(t, ({ child }) => void child.kill(signal)),
    )
  }

  await t.test('an export whose tool process is terminated by SIGTERM reports the reason', async (t) => {
    const running = exportOf(t, server.dataDir)
    await begun(running)
    process.kill(await toolOf(server.pid), 'SIGTERM')
    running.stdout.resume()
    t.match(await running.ended, { code: 1, stderr: /^topicd: the service .*\n$/ })
    t.ok((await growth(server)) < steadyBytesMax)
  })
})

await t.test('an export whose output is not read ends after a time limit', { timeout: 600_000 }, async (t) => {
  const program = patchedProgram(
    join(directory, 'patched'),
    'settings/limits.js',
    `export * from './sound-limits.js'\nexport const toolUnreadMsMax = 1000\n`,
  )
  const server = await steadyServer(t, program)

  await t.test('an export without a reader fails and leaves no snapshot open', async (t) => {
    const running = exportOf(t, server.dataDir, program)
    await begun(running)
    const tool = await toolOf(server.pid)
    t.match(await running.ended, { code: 1, stderr: 'topicd: nothing was read from standard output for 1 s\n' })
    await gone(tool)
    t.ok((await growth(server)) < steadyBytesMax)
  })

  await t.test('an export whose command is suspended fails and leaves no snapshot open', async (t) => {
    const running = exportOf(t, server.dataDir, program)
    await begun(running)
    const tool = await toolOf(server.pid)
    running.child.kill('SIGSTOP')
    await gone(tool)
    t.ok((await growth(server)) < steadyBytesMax)
    running.child.kill('SIGCONT')
    running.stdout.resume()
    const { code, stderr } = await running.ended
    t.equal(code, 1)
    t.match(stderr, /^topicd: .*\n$/)
  })
})

await t.test('an interrupted export without a service releases the data directory', { timeout: 600_000 }, async (t) => {
  const server = await steadyServer(t)
  await server.stop()
  for (const how of ['SIGKILL', 'SIGINT', 'head'] as const) {
    const running = exportOf(t, server.dataDir)
    await begun(running)
    const tool = await toolOf(running.child.pid ?? 0)
    if (how === 'head') running.stdout.destroy()
    else running.child.kill(how)
    const { code } = await running.ended
    t.equal(code, how === 'head' ? 0 : null, how)
    await gone(tool)
  }
  const again = await startServer(t, { workers: 2, dataDir: server.dataDir, token: server.token })
  await growth(again)
  const grown = await growth(again)
  t.ok(grown < steadyBytesMax, `the file grew by ${grown} bytes`)
})
