/**
 * A disk whose power can be cut: an ext4 file system in an image file on XFS, both mounted through loop devices. A
 * reflink copy of the image is instantaneous, and has what the disk has at that moment: everything that was written to
 * it, and nothing that the system still keeps in memory. The copy is then mounted as a machine would mount its disk
 * after a power cut.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

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
  /** Where its file system is mounted. */
  readonly directory: string
  /** Mounts a copy of what is on the disk at this moment, as after a power cut, until `forget`. */
  cut(): { readonly directory: string; forget(): void }
}

/** Makes a disk for this test, and removes it at the test's end. */
export function makeDisk(t: Test): Disk {
  // Not tap's test directory, which would be emptied while file systems are mounted in it.
  const base = mkdtempSync(join(tmpdir(), 'topicd-power-'))
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
    cut() {
      const copy = join(outer, `cut-${++copies}.img`)
      run('cp', '--reflink=always', image, copy)
      const copied = join(base, `cut-${copies}`)
      mount(copy, copied)
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
