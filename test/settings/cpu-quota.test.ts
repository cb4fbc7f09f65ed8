/** The CPU quota of a control group, read from files like those of real systems. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { cpuQuota } from '../../dist/settings/cpu-quota.js'

/** The quota on a system that has these files. */
function quotaWith(t: Test, files: Readonly<Record<string, string>>): number {
  const root = t.testdir({})
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${text}\n`)
  }
  return cpuQuota(root)
}

const self = 'proc/self/cgroup'
const mounts = 'proc/self/mountinfo'
const groups = 'sys/fs/cgroup'

/** Version 2 with all groups mounted, or only those from `top` on. */
const version2 = (top = '/'): string =>
  `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 ${top} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate`

/** Version 1, with the empty hierarchy of version 2 beside it. */
const version1 = (top = '/'): string =>
  `32 31 0:29 ${top} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 ${top} /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`

t.test('version 2: its own group', async (t) => {
  const unit = { [self]: '0::/system.slice/topicd.service', [mounts]: version2() }
  const file = `${groups}/system.slice/topicd.service/cpu.max`
  t.equal(quotaWith(t, { ...unit, [file]: '150000 100000' }), 1.5)
  t.equal(quotaWith(t, { ...unit, [file]: '25000 50000' }), 0.5)
  t.equal(quotaWith(t, { ...unit, [file]: 'max 100000' }), Infinity)
})

t.test('version 2: the smallest of the groups around it', async (t) => {
  const files = {
    [self]: '0::/kubepods.slice/pod.slice/app',
    [mounts]: version2(),
    [`${groups}/kubepods.slice/cpu.max`]: '800000 100000',
    [`${groups}/kubepods.slice/pod.slice/cpu.max`]: '300000 100000',
    [`${groups}/kubepods.slice/pod.slice/app/cpu.max`]: 'max 100000',
    [`${groups}/kubepods.slice/other/cpu.max`]: '100000 100000',
  }
  t.equal(quotaWith(t, files), 3)
})

t.test('version 2 in a container, where its group looks like the root', async (t) => {
  const quota = { [`${groups}/cpu.max`]: '200000 100000' }
  t.equal(quotaWith(t, { [self]: '0::/', [mounts]: version2(), ...quota }), 2)
  t.equal(quotaWith(t, { [self]: '0::/../app', [mounts]: version2(), ...quota }), 2, 'entered from outside')
  t.equal(quotaWith(t, { [self]: '0::/docker/1f', [mounts]: version2('/docker/1f'), ...quota }), 2)
  t.equal(quotaWith(t, { [self]: '0::/docker/1f', [mounts]: version2('/../../docker/1f'), ...quota }), 2)
  t.equal(
    quotaWith(t, {
      [self]: '0::/docker/1f/own',
      [mounts]: version2('/docker/1f'),
      [`${groups}/own/cpu.max`]: '100000 100000',
    }),
    1,
  )
  t.equal(
    quotaWith(t, {
      [self]: '0::/docker/1fa',
      [mounts]: version2('/docker/1f'),
      [`${groups}/a/cpu.max`]: '100000 100000',
    }),
    Infinity,
    'a group whose name begins alike is another',
  )
})

t.test('version 1', async (t) => {
  const at = (group: string, quota: string, period = '100000'): Record<string, string> => ({
    [`${groups}/cpu,cpuacct${group}/cpu.cfs_quota_us`]: quota,
    [`${groups}/cpu,cpuacct${group}/cpu.cfs_period_us`]: period,
  })
  const inGroup = { [self]: '5:cpuset:/elsewhere\n4:cpu,cpuacct:/docker/1f\n0::/' }
  t.equal(quotaWith(t, { ...inGroup, [mounts]: version1(), ...at('/docker/1f', '250000'), ...at('', '-1') }), 2.5)
  t.equal(quotaWith(t, { ...inGroup, [mounts]: version1(), ...at('/docker', '50000'), ...at('/docker/1f', '-1') }), 0.5)
  t.equal(quotaWith(t, { ...inGroup, [mounts]: version1(), ...at('/docker/1f', '-1') }), Infinity)
  t.equal(quotaWith(t, { ...inGroup, [mounts]: version1('/docker/1f'), ...at('', '100000', '50000') }), 2)
  t.equal(quotaWith(t, { ...inGroup, [mounts]: version1(), ...at('/elsewhere', '100000') }), Infinity)
})

t.test('without control groups, or with files that say nothing, there is none', async (t) => {
  t.equal(quotaWith(t, {}), Infinity)
  t.equal(quotaWith(t, { [self]: '0::/', [mounts]: version2() }), Infinity)
  t.equal(quotaWith(t, { [self]: '0::/', [mounts]: version2(), [`${groups}/cpu.max`]: '' }), Infinity)
  t.equal(quotaWith(t, { [self]: 'nonsense', [mounts]: 'nonsense' }), Infinity)
  t.equal(cpuQuota() > 0, true, 'this system')
})
