/**
 * A service that may use only so much memory, the cached pages of its files included: a control group of its own, of
 * either version.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

const groups = [
  { directory: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' },
  { directory: '/sys/fs/cgroup', limit: 'memory.max' },
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
 * Makes a program that runs Node.js within so much memory, until the test ends. What is in the system's cache already
 * does not count for it, so the cache is emptied.
 *
 * @param file where the program is made
 */
export function limitedNode(t: Test, file: string, bytes: number): void {
  const kind = groupKind()
  if (kind === undefined) throw new Error('this machine has no control groups for memory')
  const group = join(kind.directory, `topicd-test-${process.pid}-${bytes}`)
  mkdirSync(group)
  writeFileSync(join(group, kind.limit), String(bytes))
  t.teardown(() => remove(group))
  writeFileSync(file, `#!/bin/sh\necho $$ > ${join(group, 'cgroup.procs')}\nexec ${process.execPath} "$@"\n`, {
    mode: 0o755,
  })
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
