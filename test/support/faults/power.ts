/**
 * A disk whose power can be cut: an ext4 file system in an image file on XFS, both mounted through loop devices. A reflink copy of the
 * image is instantaneous and contains exactly the data written to the disk, without data that is still in the system's memory. The copy is
 * then mounted as a machine would mount its disk after a power cut. Further losses on a real disk, such as the contents of the disk's
 * cache, are not simulated.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { tied } from '../tied.js'

/** Why this machine cannot simulate power cuts; false if it can. */
export function whyNoPowerCuts(): string | false {
  if (process.getuid?.() !== 0) return 'power cuts need root'
  if (!existsSync('/dev/loop-control')) return 'power cuts need loop devices'
  for (const program of ['mkfs.xfs', 'mkfs.ext4', 'mount', 'umount']) {
    if (spawnSync(program, ['-V']).error !== undefined) return `power cuts need the program ${program}`
  }
  return false
}

const imageBytes = 1024 ** 3
const diskBytes = 8 * imageBytes

export interface Disk {
  /** The directory where the file system is mounted. */
  readonly directory: string
  /**
   * Mounts a copy of the disk's contents, as after a power cut, until `forget`. Programs that use the disk keep running.
   *
   * @param before called a few ms before the copy, when everything is prepared
   * @param after called after the copy
   */
  cut(before?: () => unknown, after?: () => unknown): Promise<{ readonly directory: string; forget(): void }>
}

const prefix = 'topicd-power-'

/** Removes the disks of processes that were killed. */
function removeLeftOvers(): void {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(prefix))) {
    const [pid = ''] = name.slice(prefix.length).split('-')
    if (existsSync(`/proc/${pid}`)) continue
    const base = join(tmpdir(), name)
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const inside = mounts.flatMap((line) => line.split(' ')[1] ?? []).filter((path) => path.startsWith(`${base}/`))
    for (const directory of inside.reverse()) spawnSync('umount', ['-l', directory])
    rmSync(base, { recursive: true, force: true })
  }
}

/** Creates a disk for this test, and removes it when the test ends. */
export function makeDisk(t: Test): Disk {
  // Do not use tap's test directory, which would be emptied while file systems are mounted in it.
  removeLeftOvers()
  const base = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
  const mounted: string[] = []
  let copies = 0

  function run(program: string, ...args: readonly string[]): void {
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  }

  function mount(image: string, directory: string): void {
    mkdirSync(directory)
    run('mount', '-o', 'loop', image, directory)
    mounted.push(directory)
  }

  function unmount(directory: string): void {
    run('umount', directory)
    mounted.splice(mounted.indexOf(directory), 1)
  }

  t.teardown(() => {
    for (const directory of [...mounted].reverse()) spawnSync('umount', ['-l', directory])
    rmSync(base, { recursive: true, force: true })
  })

  const outer = join(base, 'outer')
  run('truncate', '-s', String(diskBytes), join(base, 'outer.img'))
  run('mkfs.xfs', '-q', '-m', 'reflink=1', join(base, 'outer.img'))
  mount(join(base, 'outer.img'), outer)
  const image = join(outer, 'disk.img')
  run('truncate', '-s', String(imageBytes), image)
  run('mkfs.ext4', '-q', image)
  const directory = join(base, 'disk')
  mount(image, directory)

  return {
    directory,
    async cut(before, after) {
      const copy = join(outer, `cut-${++copies}.img`)
      const program = 'echo ready; read line; exec cp --reflink=always "$0" "$1"'
      const child = spawn(...tied('sh', ['-c', program, image, copy]), { stdio: ['pipe', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      await before?.()
      child.stdin.end('now\n')
      const [code] = (await once(child, 'close')) as [number | null]
      await after?.()
      if (code !== 0) throw new Error(`the disk could not be copied: ${code}`)
      const copied = join(base, `cut-${copies}`)
      mkdirSync(copied)
      await promisify(execFile)('mount', ['-o', 'loop', copy, copied])
      mounted.push(copied)
      return {
        directory: copied,
        forget() {
          unmount(copied)
          rmSync(copy)
        },
      }
    },
  }
}
