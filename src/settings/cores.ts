/**
 * The number of cores that the process may use: the cores in its affinity mask, limited by the CPU quotas of its control group and
 * of the enclosing groups. Such a quota limits a container, which still sees every core of its host. Both versions of control
 * groups are supported.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/** The quota is rounded up: with 1.5 cores, two are sometimes busy. @param root the root of the file system */
export function usableCores(root = '/'): number {
  return Math.min(coresOfAffinity(root), Math.ceil(quotaOf(root)))
}

/** Avoids availableParallelism if possible: from Node.js 22 on it respects some quotas, but rounds them down. */
function coresOfAffinity(root: string): number {
  const [allowed = ''] = linesOf(join(root, 'proc/self/status')).flatMap(
    (line) => /^Cpus_allowed_list:\s+(\S+)$/.exec(line)?.[1] ?? [],
  )
  const [online = ''] = linesOf(join(root, 'sys/devices/system/cpu/online'))
  // By default, the affinity of a process includes cores that the machine could have but does not.
  const cores = numbersOf(online)
  return numbersOf(allowed).filter((core) => cores.includes(core)).length || availableParallelism()
}

/** @param list such as `0-3,8` */
function numbersOf(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    return first === undefined
      ? []
      : Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
  })
}

/** The smallest quota that applies, in cores, such as 1.5; Infinity without a quota. */
function quotaOf(root: string): number {
  const paths = groupPaths(linesOf(join(root, 'proc/self/cgroup')))
  const mounts = linesOf(join(root, 'proc/self/mountinfo')).flatMap((line) => mountOf(line, paths))
  const quotas = mounts.flatMap(({ point, below }) =>
    groupsAbove(below).map((group) => quotaIn(join(root, point, group))),
  )
  return Math.min(Infinity, ...quotas)
}

interface GroupPaths {
  /** In version 2. */
  readonly unified: string
  /** In version 1, the group that limits CPU time. */
  readonly cpu: string
}

/** Lines such as `0::/system.slice/topicd.service` and `4:cpu,cpuacct:/docker/1f00`. */
function groupPaths(lines: readonly string[]): GroupPaths {
  let unified = '/'
  let cpu = '/'
  for (const line of lines) {
    const [id, controllers = '', ...path] = line.split(':')
    if (id === '0' && controllers === '') unified = path.join(':')
    if (controllers.split(',').includes('cpu')) cpu = path.join(':')
  }
  return { unified, cpu }
}

/** Parses a line of mountinfo, if it mounts control groups that limit CPU time. `below` is the process's group, relative to `point`. */
function mountOf(line: string, { unified, cpu }: GroupPaths): { point: string; below: string }[] {
  const [place = '', system = ''] = line.split(' - ')
  const [, , , top = '/', point = '/'] = place.split(' ')
  const [type, , options = ''] = system.split(' ')
  if (type === 'cgroup2') return [{ point, below: pathBelow(top, unified) }]
  const limitsTime = type === 'cgroup' && options.split(',').includes('cpu')
  return limitsTime ? [{ point, below: pathBelow(top, cpu) }] : []
}

/**
 * A group's path relative to the mounted group. In a container, the mount may show only the container's own group while the
 * path starts at the host's root, or vice versa. The path is then not below the mounted group, so the mounted group is used.
 */
function pathBelow(top: string, path: string): string {
  if (path.split('/').includes('..')) return ''
  if (top === '/') return path
  return path === top || path.startsWith(`${top}/`) ? path.slice(top.length) : ''
}

/** For `/a/b`: `a/b`, `a` and the mounted group itself. */
function groupsAbove(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '')
  return [...names.map((_, i) => names.slice(0, names.length - i).join('/')), '']
}

/**
 * In version 2, one file contains the time and the period, such as `150000 100000` or `max 100000`. In version 1, two files
 * contain one of these numbers each, with -1 for no limit.
 */
function quotaIn(directory: string): number {
  const files = ['cpu.max', 'cpu.cfs_quota_us', 'cpu.cfs_period_us']
  const [limit, period] = files
    .flatMap((file) => linesOf(join(directory, file)))
    .join(' ')
    .split(' ')
    .map(Number)
  return limit !== undefined && period !== undefined && limit > 0 && period > 0 ? limit / period : Infinity
}

/** Returns no lines for an unreadable file: the root group has no quota, and other systems have no control groups. */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n')
  } catch {
    return []
  }
}
