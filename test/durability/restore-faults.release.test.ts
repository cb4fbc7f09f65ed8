/**
 * A restore under disk faults. After a power cut at any moment there is no store or the whole one. If a write, a flush or a rename fails,
 * there is no store, and the message names the failure.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeDisk, whyNoPowerCuts } from '../support/faults/power.js'
import { whyNoStrace } from '../support/faults/strace.js'
import { mainFile, runCommand } from '../support/service/server.js'
import { tied } from '../support/tied.js'

t.setTimeout(600_000)

const base = mkdtempSync(join(tmpdir(), 'topicd-restore-'))
t.teardown(() => rmSync(base, { recursive: true, force: true }))
const backup = join(base, 'backup.mdb')
const topics = 20_000
const roomFor = ['--disk-free-bytes-min', String(16 * 1024 * 1024)]

await t.test('a backup is created for the restores below', async (t) => {
  const source = join(base, 'source')
  const lines = Array.from({ length: topics }, (_, i) => `{"path":"many/${i}","value":"${'x'.repeat(200)}"}\n`)
  t.match(await runCommand(['import', '--allow-unfinished', '--data', source], {}, lines.join('')), { code: 0 })
  t.match(await runCommand(['backup', backup, '--data', source]), { code: 0 })
})

/** The state of the store after a cut: nothing, all of it, or the output of a failed check. */
async function stateOf(data: string): Promise<'none' | 'whole' | string> {
  if (!existsSync(join(data, 'topics', 'data.mdb'))) return 'none'
  const { code, stdout, stderr } = await runCommand(['check', '--data', data, '--json'])
  if (code === 0 && (JSON.parse(stdout) as { checked: { records: number } }).checked.records > topics) return 'whole'
  return `${stdout}${stderr}`
}

/** Runs `times` restores, each with a cut at a later moment, and one more with the cut immediately after its end. */
async function cutRestores(t: Test, times: number): Promise<string[]> {
  const disk = makeDisk(t)
  let wasRunAgain = false
  const restore = async (data: string, ms?: number): Promise<string> => {
    mkdirSync(data)
    spawnSync('sync', ['-f', data])
    const child = spawn(...tied(process.execPath, [mainFile, 'restore', backup, '--data', data, ...roomFor]), {
      stdio: 'ignore',
    })
    const ended = once(child, 'close')
    if (ms === undefined) t.strictSame(await ended, [0, null])
    else await sleep(ms)
    const { directory, forget } = await disk.cut()
    const copy = join(directory, basename(data))
    const state = await stateOf(copy)
    if (state === 'none' && !wasRunAgain) {
      wasRunAgain = true
      t.match(await runCommand(['restore', backup, '--data', copy, ...roomFor]), { code: 0 }, 'a second run succeeds')
      t.equal(await stateOf(copy), 'whole')
    }
    forget()
    await ended
    rmSync(data, { recursive: true })
    return state
  }
  const startedMs = performance.now()
  t.equal(await restore(join(disk.directory, 'first')), 'whole', 'a completed restore is on disk')
  const spanMs = performance.now() - startedMs
  const states: string[] = []
  for (let i = 0; i < times; i++) states.push(await restore(join(disk.directory, String(i)), (spanMs * i) / times))
  return states
}

await t.test('a power cut in a restore leaves no store or a complete one', { skip: whyNoPowerCuts() }, async (t) => {
  const states = await cutRestores(t, 7)
  const whole = states.filter((state) => state === 'whole').length
  t.comment(`${states.length} cuts: ${whole} whole, ${states.filter((state) => state === 'none').length} none`)
  for (const state of states) t.match(state, /^(none|whole)$/)
  t.ok(states.includes('none'), 'some cuts hit the middle of a restore')
})

/** System calls that fail, the file of each, and the reason in the message. */
const faults = [
  { call: 'write', error: 'ENOSPC', when: 20, on: 'copy', reason: /ENOSPC: no space left on device, write/ },
  { call: 'write', error: 'EIO', when: 3, on: 'copy', reason: /EIO: i\/o error, write/ },
  { call: 'fsync', error: 'EIO', when: 1, on: 'copy', reason: /EIO: i\/o error, fsync/ },
  { call: 'fsync', error: 'EIO', when: 2, on: 'copy', reason: /EIO: i\/o error, fsync/ },
  { call: 'link', error: 'EIO', when: 1, on: 'copy', reason: /EIO: i\/o error, link/ },
  { call: 'fsync', error: 'EIO', when: 1, on: 'data', reason: /EIO: i\/o error, fsync/ },
] as const

/** Runs a restore whose system calls on one path fail, as specified for strace's `--inject`. */
function restoreWith(fault: string, path: string, data: string): { readonly status: number | null; stderr: string } {
  const inject = ['-e', `trace=${fault.split(':')[0]}`, '-e', `inject=${fault}`, '-P', path]
  const restore = [process.execPath, mainFile, 'restore', backup, '--data', data, ...roomFor]
  return spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', ...inject, ...restore], { encoding: 'utf8' })
}

await t.test('a restore on a failing disk leaves no store and reports why', { skip: whyNoStrace() }, async (t) => {
  let data = ''
  for (const { call, error, when, on, reason } of faults) {
    data = join(base, `${call}-${error}-${when}-${on}`)
    mkdirSync(data)
    const path = on === 'copy' ? join(data, 'topics/restore.partial/topics/data.mdb') : data
    const { status, stderr } = restoreWith(`${call}:error=${error}:when=${when}`, path, data)
    t.equal(status, 1, `${call} of the ${on}, ${error}`)
    t.match(stderr, /^topicd: nothing was restored: /m)
    t.match(stderr, reason)
    t.notOk(existsSync(join(data, 'topics')), 'nothing is left')
  }
  t.match(await runCommand(['restore', backup, '--data', data, ...roomFor]), { code: 0 }, 'a second run succeeds')
  data = join(base, 'flushed-last')
  mkdirSync(join(data, 'topics'), { recursive: true })
  const { status, stderr } = restoreWith('fsync:error=EIO', join(data, 'topics'), data)
  t.equal(status, 1)
  t.match(stderr, /^topicd: \S+data\.mdb was restored, but a power cut may still undo it: EIO: i\/o error, fsync\n$/m)
  t.equal(await stateOf(data), 'whole')
})
