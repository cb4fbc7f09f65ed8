/**
 * A service that may use only so much memory, the cached pages of its files included: a control group of its own, of
 * either version.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Where groups are made, and their files: the limit, how often it was met, and the most that was used. */
const groups = [
  {
    directory: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    met: 'memory.failcnt',
    most: 'memory.max_usage_in_bytes',
  },
  { directory: '/sys/fs/cgroup', limit: 'memory.max', met: 'memory.events', most: 'memory.peak' },
]

/** A group is removed only once its last process has been reaped. */
const removalMsMax = 10_000

/** Why this machine cannot limit the memory of a service; false if it can. */
export function whyNoMemoryLimit(): string | false {
  if (process.getuid?.() !== 0) return 'limits of memory need root'
  return groupKind() === undefined ? 'this machine has no control groups for memory' : false
}

function groupKind() {
  return groups.find(({ directory, limit }) => {
    const probe = join(directory, `topicd-probe-${process.pid}`)
    try {
      mkdirSync(probe)
    } catch {
      return false
    }
    const has = existsSync(join(probe, limit))
    rmdirSync(probe)
    return has
  })
}

/**
 * Makes a program that runs Node.js within so much memory, until the test ends, or not at all. Pages that are in the
 * system's cache already do not count for it.
 *
 * @param file where the program is made
 * @returns reads how often memory had to be freed for the limit so far, and the maximum that was used
 */
export function limitedNode(t: Test, file: string, bytes: number) {
  const kind = groupKind()
  if (kind === undefined) throw new Error('this machine has no control groups for memory')
  const group = join(kind.directory, `topicd-test-${process.pid}-${bytes}`)
  mkdirSync(group)
  t.teardown(() => remove(group))
  writeFileSync(join(group, kind.limit), String(bytes))
  const script = `#!/bin/sh\necho $$ > ${join(group, 'cgroup.procs')} && exec ${process.execPath} "$@"\n`
  writeFileSync(file, script, { mode: 0o755 })
  const text = (name: string): string => readFileSync(join(group, name), 'utf8')
  return () => ({
    // A bare number, or lines of which one is "max 7".
    met: Number(/^(?:max )?(\d+)$/m.exec(text(kind.met))?.[1]),
    mostBytes: Number(text(kind.most)),
  })
}

/** So that what is read next is read from the disk, and counts for the group that reads it. */
export function emptyFileCache(): void {
  writeFileSync('/proc/sys/vm/drop_caches', '1')
}

async function remove(group: string): Promise<void> {
  for (const endMs = performance.now() + removalMsMax; ; ) {
    try {
      return rmdirSync(group)
    } catch (error) {
      if (performance.now() > endMs) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
