/** A small file system in memory, for tests of disks that fill up. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

export interface SmallDisk {
  readonly directory: string
  freeBytes(): number
  resize(bytes: number): void
  /** Leaves this many bytes free. */
  leaveFree(bytes: number): void
}

/** Why this machine cannot mount a small disk; false if it can. */
export function whyNoSmallDisk(): string | false {
  if (process.getuid?.() !== 0) return 'a small file system needs root'
  return spawnSync('mount', ['-V']).error === undefined ? false : 'a small file system needs the program mount'
}

/** Mounts a disk whose size can be changed; it is unmounted when the test ends. */
export function mountSmallDisk(t: Test, bytes: number): SmallDisk {
  // Do not use one of tap's directories, which would be emptied while the disk is mounted on it.
  const directory = mkdtempSync(join(tmpdir(), 'topicd-disk-'))
  const mount = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync('mount', [...args], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`mount ${args.join(' ')}: ${stderr}`)
  }
  const resize = (size: number): void => mount('-o', `remount,size=${size}`, directory)
  mount('-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', directory)
  t.teardown(() => {
    spawnSync('umount', ['-l', directory])
    rmSync(directory, { recursive: true, force: true })
  })
  return {
    directory,
    resize,
    freeBytes() {
      const { bavail, bsize } = statfsSync(directory)
      return bavail * bsize
    },
    leaveFree(free) {
      const { blocks, bfree, bsize } = statfsSync(directory)
      resize((blocks - bfree) * bsize + free)
    },
  }
}
