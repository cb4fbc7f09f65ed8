/**
 * A machine with its own systemd: systemd-nspawn boots an overlay of this machine's root in a second, and discards all changes at the end.
 * Its only network is its loopback, which `inNetwork` can access.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { tied } from '../tied.js'
import { childrenOf, commandLine } from './processes.js'

/** Why this machine cannot boot another; false if it can. */
export function whyNoMachine(): string | false {
  if (process.getuid?.() !== 0) return 'a separate machine needs root'
  for (const program of ['systemd-nspawn', 'nsenter', 'dpkg-deb']) {
    if (spawnSync(program, ['--version']).error !== undefined) return `a separate machine needs ${program}`
  }
  let root: OverlayRoot
  try {
    root = new OverlayRoot()
  } catch (error) {
    return `no overlay can be mounted here: ${(error as Error).message}`
  }
  const { status, stderr } = spawnSync('sh', nspawn(root, '/bin/true'), { encoding: 'utf8' })
  root.remove()
  return status === 0 ? false : `systemd-nspawn does not run here: ${stderr.trim()}`
}

/** Time limits for booting and stopping a machine, to detect hangs. */
const bootMsMax = 240_000
const teardownMsMax = 10_000

/** The result of a command in the machine. */
export interface Ran {
  readonly status: number | null
  /** Both streams, in the order in which they were written. */
  readonly output: string
}

export class Machine {
  private constructor(
    private readonly root: OverlayRoot,
    private readonly leader: number,
  ) {}

  /** Boots a machine that stops when the test ends. */
  static async boot(t: Test): Promise<Machine> {
    const root = new OverlayRoot()
    const args = nspawn(root, '/lib/systemd/systemd', 'systemd.unit=multi-user.target')
    // SIGKILL would leave the machine running; on SIGTERM, systemd-nspawn kills it.
    const container = spawn(...tied('sh', args, { signal: 'TERM' }), { stdio: 'ignore', detached: true })
    const ended = once(container, 'exit')
    t.teardown(async () => {
      // When the machine's first process exits, all other processes exit, and then systemd-nspawn.
      for (const leader of childrenOf(container.pid as number)) process.kill(leader, 'SIGKILL')
      await Promise.race([ended, sleep(teardownMsMax)])
      container.kill('SIGKILL')
      root.remove()
    })
    const deadline = performance.now() + bootMsMax
    for (;;) {
      const [leader] = childrenOf(container.pid as number)
      if (leader !== undefined && commandLine(leader).startsWith('/lib/systemd/systemd\0')) {
        const machine = new Machine(root, leader)
        if (machine.try('systemctl is-system-running').output.match(/^(running|degraded)$/m)) return machine
      }
      if (container.exitCode !== null || performance.now() > deadline) throw new Error('the machine does not boot')
      await sleep(100)
    }
  }

  /** The path on this machine of a file in the other one. */
  path(file: string): string {
    return join(this.root.directory, file)
  }

  /** Runs a shell script in the machine until it exits. */
  try(script: string): Ran {
    // A separate session, because a script that signals its process group must not reach this one; and a separate environment, set inside
    // the machine, because tap adds one of this machine's modules to the environment of every process that it sees started.
    const enter = ['--wait', 'nsenter', '-t', String(this.leader), '-a', 'env', '-i', ...machineEnvironment]
    // Without --norc, bash would take its standard input for a remote shell's, and read this machine's ~/.bashrc.
    const { status, stdout } = spawnSync('setsid', [...enter, 'bash', '--norc', '-c', `exec 2>&1\n${script}`], {
      encoding: 'utf8',
    })
    return { status, output: stdout }
  }

  /**
   * Like `try`, for a script that must succeed.
   *
   * @returns its output
   */
  run(script: string): string {
    const { status, output } = this.try(`set -e\n${script}`)
    if (status !== 0) throw new Error(`exit status ${status} of: ${script}\n${output}`)
    return output.trim()
  }

  /** Starts a program of this machine in the network of the other one. */
  inNetwork(program: string, args: readonly string[]): ChildProcess {
    const stdio = ['pipe', 'pipe', 'inherit'] as const
    return spawn(...tied('nsenter', ['-t', String(this.leader), '-n', program, ...args]), { stdio: [...stdio] })
  }
}

/** The usual environment of programs on a Debian machine. */
const machineEnvironment = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'HOME=/root',
  'LANG=C.UTF-8',
  'DEBIAN_FRONTEND=noninteractive',
]

/**
 * The arguments of `sh` that run a program as the first process of a machine, in its own control groups. Two machines in the same groups
 * would stop each other's services.
 */
function nspawn(root: OverlayRoot, ...command: readonly string[]): string[] {
  const enter = root.controlGroups.map((directory) => `mkdir -p ${directory} && echo $$ > ${directory}/cgroup.procs`)
  const script = [...enter, 'exec systemd-nspawn "$@"'].join('\n')
  const options = ['--quiet', '--private-network', '--register=no', '--keep-unit', '--console=pipe']
  return ['-ec', script, 'sh', ...options, '--directory', root.directory, ...command]
}

/** This machine's root, with changes on top that are kept in memory. */
class OverlayRoot {
  readonly #base = mkdtempSync(join(tmpdir(), 'topicd-machine-'))
  readonly directory = join(this.#base, 'memory/root')
  /** The control groups that systemd uses: version 2, or version 1 with its own hierarchy. */
  readonly controlGroups = ['/sys/fs/cgroup', '/sys/fs/cgroup/systemd', '/sys/fs/cgroup/unified']
    .filter((hierarchy) => existsSync(join(hierarchy, 'cgroup.procs')))
    .map((hierarchy) => join(hierarchy, basename(this.#base)))

  constructor() {
    try {
      this.#mount()
    } catch (error) {
      this.remove()
      throw error
    }
  }

  #mount(): void {
    const memory = join(this.#base, 'memory')
    mkdirSync(memory)
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', memory])
    for (const name of ['changes', 'work', 'root']) mkdirSync(join(memory, name))
    const layers = `lowerdir=/,upperdir=${join(memory, 'changes')},workdir=${join(memory, 'work')}`
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, this.directory])
    // A script of container images that prevents packages from starting their services.
    rmSync(join(this.directory, 'usr/sbin/policy-rc.d'), { force: true })
    this.#maskServices()
  }

  remove(): void {
    spawnSync('umount', ['-l', this.directory])
    spawnSync('umount', ['-l', join(this.#base, 'memory')])
    rmSync(this.#base, { recursive: true, force: true })
    for (const group of this.controlGroups) spawnSync('find', [group, '-depth', '-type', 'd', '-delete'])
  }

  /** Prevents this machine's own services from running in the other one. */
  #maskServices(): void {
    const wanted = join(this.directory, 'etc/systemd/system/multi-user.target.wants')
    for (const unit of readdirSync(wanted).filter((name) => name.endsWith('.service'))) {
      rmSync(join(wanted, unit))
      rmSync(join(this.directory, 'etc/systemd/system', unit), { force: true })
      symlinkSync('/dev/null', join(this.directory, 'etc/systemd/system', unit))
    }
  }
}
