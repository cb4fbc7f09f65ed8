/**
 * On a disk with large read-ahead, the system does not read ahead for requests if the store does not fit in memory. It always reads ahead
 * for tools, which read the store in order. operate/large-store shows the benefit.
 */
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { dataFile } from '../../dist/store/lmdb/environment/files.js'
import { circumstancesOf, isReadAheadHarmful } from '../../dist/store/lmdb/environment/read-ahead.js'
import { makeDisk, whyNoPowerCuts } from '../support/faults/power.js'
import { limitedNode, whyNoMemoryLimit } from '../support/machines/memory-limit.js'
import { readsAhead } from '../support/machines/processes.js'
import { runCommand, type Server, startServer } from '../support/service/server.js'
import { begun, startCommand, toolOf } from '../support/service/tool-client.js'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

t.test('read-ahead of more than 128 KiB is harmful for large files', async (t) => {
  const isHarmful = (fileBytes: number, readAheadBytes: number): boolean =>
    isReadAheadHarmful({ fileBytes, memoryBytes: 1000, readAheadBytes })
  t.equal(isHarmful(750, Infinity), false)
  t.equal(isHarmful(751, Infinity), true)
  t.equal(isHarmful(1e9, 128 * kibibyte), false)
  t.equal(isHarmful(1e9, 128 * kibibyte + 1), true)
})

t.test('a missing file is treated as an empty file', async (t) => {
  t.match(circumstancesOf(join(t.testdir(), 'none')), { fileBytes: 0, readAheadBytes: 0 })
})

/** The device on which a directory is mounted. */
function deviceOf(directory: string): string {
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === directory)
  return basename(mount?.split(' ')[0] ?? '')
}

async function onDisk(t: Test): Promise<void> {
  const disk = makeDisk(t)
  const dataDir = join(disk.directory, 'db')
  const file = dataFile(dataDir)
  mkdirSync(dataDir)
  // More than a pipe and a socket hold, so an unread export cannot finish.
  const lines = Array.from({ length: 4000 }, (_, i) => `{"path":"t/${i}","value":"${'x'.repeat(1000)}"}\n`)
  t.match(await runCommand(['import', '--allow-unfinished', '--data', dataDir], {}, lines.join('')), { code: 0 })
  const { stdout } = await runCommand(['keys', 'add', 'reader', '--data', dataDir])
  const [token] = /topicd_[\w-]+/.exec(stdout) ?? []
  // Most of the file is a hole.
  truncateSync(file, 1024 * mebibyte)

  /** A service with a 1 GiB file, this much memory, and a disk with this read-ahead. */
  async function serverWith(t: Test, memoryMiB: number, readAheadKiB: number): Promise<Server> {
    writeFileSync(`/sys/block/${deviceOf(disk.directory)}/queue/read_ahead_kb`, String(readAheadKiB))
    t.equal(circumstancesOf(file).readAheadBytes, readAheadKiB * kibibyte)
    const node = join(t.testdir(), 'node')
    limitedNode(t, node, memoryMiB * mebibyte)
    return startServer(t, { dataDir, token, node, workers: 2 })
  }

  const workersReadAhead = (server: Server): readonly unknown[] =>
    server.workerPids().map((pid) => readsAhead(pid, file))

  await t.test('only tools use read-ahead if it is large and memory is small', async (t) => {
    const server = await serverWith(t, 512, 4096)
    t.strictSame(workersReadAhead(server), [false, false])
    const unread = startCommand(t, ['export', '--data', dataDir])
    await begun(unread)
    t.equal(readsAhead(await toolOf(server.pid), file), true)
    unread.child.kill('SIGKILL')
    await unread.ended
  })

  await t.test('workers use read-ahead if it has its usual size', async (t) => {
    t.strictSame(workersReadAhead(await serverWith(t, 512, 128)), [true, true])
  })

  await t.test('workers use read-ahead if it is large and memory is sufficient', async (t) => {
    t.strictSame(workersReadAhead(await serverWith(t, 2048, 4096)), [true, true])
  })
}

t.test('the use of read-ahead depends on disk and memory', { skip: whyNoMemoryLimit() || whyNoPowerCuts() }, onDisk)
