/**
 * How many cores the process may use: those of its affinity, but no more than the CPU quotas of its control group and of the
 * groups around it allow. A container is limited so, and still sees every core of its host. Both versions of control groups
 * are read.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/** The quota is rounded up: with 1.5 cores, two are busy at times. @param root the directory of the system's files */
export function usableCores(root = '/'): number {
  return Math.min(coresOfAffinity(root), Math.ceil(quotaOf(root)))
}

/** Not availableParallelism where it can be helped: from Node.js 22 on it heeds some quotas, and rounds them down. */
function coresOfAffinity(root: string): number {
  const [allowed = ''] = linesOf(join(root, 'proc/self/status')).flatMap(
    (line) => /^Cpus_allowed_list:\s+(\S+)$/.exec(line)?.[1] ?? [],
  )
  const [online = ''] = linesOf(join(root, 'sys/devices/system/cpu/online'))
  // The affinity of a process that has never set it includes cores that the machine could have.
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

/** The smallest quota that applies, in cores, such as 1.5; Infinity if there is none. */
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
  /** In version 1, where CPU time is limited. */
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

/** A line of mountinfo, if it is of control groups that limit CPU time. `below` is the process's group, relative to `point`. */
function mountOf(line: string, { unified, cpu }: GroupPaths): { point: string; below: string }[] {
  const [place = '', system = ''] = line.split(' - ')
  const [, , , top = '/', point = '/'] = place.split(' ')
  const [type, , options = ''] = system.split(' ')
  if (type === 'cgroup2') return [{ point, below: pathBelow(top, unified) }]
  const limitsTime = type === 'cgroup' && options.split(',').includes('cpu')
  return limitsTime ? [{ point, below: pathBelow(top, cpu) }] : []
}

/**
 * A group's path relative to the group that is mounted. A container may see only its own group mounted, but its path from
 * the host's root, or the other way round: the path is then not below it, and the mounted group is the best that is known.
 */
function pathBelow(top: string, path: string): string {
  if (path.split('/').includes('..')) return ''
  if (top === '/') return path
  return path === top || path.startsWith(`${top}/`) ? path.slice(top.length) : ''
}

/** `/a/b`, `/a` and the mounted group itself, for `/a/b`. */
function groupsAbove(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '')
  return [...names.map((_, i) => names.slice(0, names.length - i).join('/')), '']
}

/** In version 2 a file has `150000 100000`, the time in each period, or `max 100000`. In version 1 each, or -1, has a file. */
function quotaIn(directory: string): number {
  const files = ['cpu.max', 'cpu.cfs_quota_us', 'cpu.cfs_period_us']
  const [limit, period] = files
    .flatMap((file) => linesOf(join(directory, file)))
    .join(' ')
    .split(' ')
    .map(Number)
  return limit !== undefined && period !== undefined && limit > 0 && period > 0 ? limit / period : Infinity
}

/** None of a file that cannot be read: the root's group has no quota, and other systems no control groups. */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n')
  } catch {
    return []
  }
}
