/**
 * A service whose memory is limited, including the cached pages of its files, by its own control group, of version 1 or 2.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

/** The directory of groups, and the files of a group: the limit, the number of times it was reached, and the maximum usage. */
const groups = [
  {
    directory: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    met: 'memory.failcnt',
    most: 'memory.max_usage_in_bytes',
  },
  { directory: '/sys/fs/cgroup', limit: 'memory.max', met: 'memory.events', most: 'memory.peak' },
]

/** A group can be removed only after its last process has been reaped. */
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
 * Creates a program that runs Node.js within `bytes` of memory, until the test ends. Pages that are already in the system's cache do not
 * count.
 *
 * @param file the path of the program
 * @returns a function that reads how often memory had to be freed for the limit so far, and the maximum that was used
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
    // A plain number, or several lines with "max 7" among them.
    met: Number(/^(?:max )?(\d+)$/m.exec(text(kind.met))?.[1]),
    mostBytes: Number(text(kind.most)),
  })
}

/** Empties the file cache, so that the next reads access the disk and count for the group that reads. */
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
