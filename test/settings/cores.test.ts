/** The cores that a process may use, according to its affinity and its quota, read from files like those of real systems. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { usableCores } from '../../dist/settings/cores.js'

/** A system with eight cores, all of which the process may use. */
const eightCores = {
  'proc/self/status': 'Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\nMems_allowed:\t1',
  'sys/devices/system/cpu/online': '0-7',
}

/** The result on a system with eight cores and these files. */
function coresWith(t: Test, files: Readonly<Record<string, string>>): number {
  const root = t.testdir({})
  for (const [name, text] of Object.entries({ ...eightCores, ...files })) {
    const file = join(root, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${text}\n`)
  }
  return usableCores(root)
}

const self = 'proc/self/cgroup'
const mounts = 'proc/self/mountinfo'
const groups = 'sys/fs/cgroup'

/** Version 2 with all groups mounted, or only the groups from `top` on. */
const version2 = (top = '/'): string =>
  `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 ${top} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate`

/** Version 1, with the empty hierarchy of version 2 alongside. */
const version1 = (top = '/'): string =>
  `32 31 0:29 ${top} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 ${top} /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`

t.test("with cgroups v2, the number of cores is limited by the process's own group", async (t) => {
  const unit = { [self]: '0::/system.slice/topicd.service', [mounts]: version2() }
  const file = `${groups}/system.slice/topicd.service/cpu.max`
  t.equal(coresWith(t, { ...unit, [file]: '150000 100000' }), 2)
  t.equal(coresWith(t, { ...unit, [file]: '25000 50000' }), 1)
  t.equal(coresWith(t, { ...unit, [file]: 'max 100000' }), 8)
})

t.test('with cgroups v2, the number of cores is limited by the strictest enclosing group', async (t) => {
  const files = {
    [self]: '0::/kubepods.slice/pod.slice/app',
    [mounts]: version2(),
    [`${groups}/kubepods.slice/cpu.max`]: '800000 100000',
    [`${groups}/kubepods.slice/pod.slice/cpu.max`]: '300000 100000',
    [`${groups}/kubepods.slice/pod.slice/app/cpu.max`]: 'max 100000',
    [`${groups}/kubepods.slice/other/cpu.max`]: '100000 100000',
  }
  t.equal(coresWith(t, files), 3)
})

t.test('with cgroups v2, the number of cores is limited in a container, whose group looks like the root', async (t) => {
  for (const [name, group, top, file, cores] of [
    ['with a namespace', '/', '/', 'cpu.max', 2],
    ['entered from outside', '/../app', '/', 'cpu.max', 2],
    ['without a namespace', '/docker/1f', '/docker/1f', 'cpu.max', 2],
    ['mounted from outside', '/docker/1f', '/../../docker/1f', 'cpu.max', 2],
    ['a nested group', '/docker/1f/own', '/docker/1f', 'own/cpu.max', 2],
    ['a group with the same name prefix', '/docker/1fa', '/docker/1f', 'a/cpu.max', 8],
  ] as const) {
    const files = { [self]: `0::${group}`, [mounts]: version2(top), [`${groups}/${file}`]: '200000 100000' }
    t.equal(coresWith(t, files), cores, name)
  }
})

t.test("with cgroups v1, the number of cores is limited by the process's group and its enclosing groups", async (t) => {
  const at = (group: string, quota: string, period = '100000'): Record<string, string> => ({
    [`${groups}/cpu,cpuacct${group}/cpu.cfs_quota_us`]: quota,
    [`${groups}/cpu,cpuacct${group}/cpu.cfs_period_us`]: period,
  })
  const inGroup = { [self]: '5:cpuset:/elsewhere\n4:cpu,cpuacct:/docker/1f\n0::/' }
  t.equal(coresWith(t, { ...inGroup, [mounts]: version1(), ...at('/docker/1f', '250000'), ...at('', '-1') }), 3)
  t.equal(coresWith(t, { ...inGroup, [mounts]: version1(), ...at('/docker', '50000'), ...at('/docker/1f', '-1') }), 1)
  t.equal(coresWith(t, { ...inGroup, [mounts]: version1(), ...at('/docker/1f', '-1') }), 8)
  t.equal(coresWith(t, { ...inGroup, [mounts]: version1('/docker/1f'), ...at('', '100000', '50000') }), 2)
  t.equal(coresWith(t, { ...inGroup, [mounts]: version1(), ...at('/elsewhere', '100000') }), 8)
})

t.test('the CPU affinity limits the number of cores', async (t) => {
  const status = (list: string) => ({ 'proc/self/status': `Cpus_allowed_list:\t${list}` })
  t.equal(coresWith(t, status('0')), 1)
  t.equal(coresWith(t, status('1-2,5')), 3)
  t.equal(
    coresWith(t, { ...status('0-127'), 'sys/devices/system/cpu/online': '0-1,3' }),
    3,
    'only cores that are online count',
  )
  const quota = { [self]: '0::/', [mounts]: version2(), [`${groups}/cpu.max`]: '250000 100000' }
  t.equal(coresWith(t, { ...status('0-1'), ...quota }), 2)
  t.equal(coresWith(t, { ...status('0-3'), ...quota }), 3)
})

t.test('the number of cores is not limited if cgroups are missing or their files are unusable', async (t) => {
  t.equal(coresWith(t, {}), 8)
  t.equal(coresWith(t, { [self]: '0::/', [mounts]: version2() }), 8)
  t.equal(coresWith(t, { [self]: '0::/', [mounts]: version2(), [`${groups}/cpu.max`]: '' }), 8)
  t.equal(coresWith(t, { [self]: 'nonsense', [mounts]: 'nonsense' }), 8)
  t.equal(usableCores(join(t.testdirName, 'none')), availableParallelism())
  t.ok(usableCores() >= 1, 'at least one core on this system')
})
