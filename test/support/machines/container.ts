/**
 * A container: an image's files, read-only, in their own namespaces. The image's command runs as process 1 with the image's account and
 * environment and without any capability. systemd-nspawn runs the container, because container runtimes need control groups that a test
 * machine may not have.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { tied } from '../tied.js'
import type { Image } from './image.js'
import type { Ran } from './machine.js'
import { childrenOf, commandLine, descendantsOf } from './processes.js'

/** Limits that detect hangs. */
const startMsMax = 60_000
const stopMsMax = 60_000

interface ContainerOptions {
  /** Directories of this machine, by their paths in the container. */
  readonly writable: Readonly<Record<string, string>>
  readonly readable: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string>>
  /** Whether the container uses this machine's network, as it does if a port is published; otherwise it has its own. */
  readonly published?: boolean
}

export class Container {
  #log = ''

  private constructor(
    readonly image: Image,
    private readonly options: ContainerOptions,
    private readonly nspawn: ChildProcess,
  ) {
    for (const stream of [nspawn.stdout, nspawn.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text
      })
    }
  }

  /** Starts a container that stops when the test ends. */
  static async start(t: Test, image: Image, options: ContainerOptions): Promise<Container> {
    // A read-only /tmp, in place of the writable tmpfs that systemd-nspawn would mount.
    const empty = mkdtempSync(join(tmpdir(), 'topicd-empty-'))
    const { Entrypoint, Cmd } = image.config
    const network = options.published === true ? [] : ['--private-network']
    const flags = [...isolation, ...network, `--directory=${image.root}`, `--bind-ro=${empty}:/tmp`, ...binds(options)]
    const command = ['/usr/bin/env', ...asAccount(image, options), ...Entrypoint, ...Cmd]
    const nspawn = spawn(...tied('systemd-nspawn', [...flags, ...command], { signal: 'TERM' }))
    const container = new Container(image, options, nspawn)
    t.teardown(async () => {
      if (nspawn.exitCode === null) await container.stop('SIGKILL')
      rmSync(empty, { recursive: true })
    })
    const deadline = performance.now() + startMsMax
    while (!commandLine(container.#first() ?? 0).includes(Cmd[0] as string)) {
      if (nspawn.exitCode !== null || performance.now() > deadline)
        throw new Error(`the container does not start:\n${container.log}`)
      await sleep(50)
    }
    return container
  }

  /** All output of the container. */
  get log(): string {
    return this.#log
  }

  /** All processes of the container, by their process ids on this machine. */
  processes(): number[] {
    return descendantsOf(this.nspawn.pid as number)
  }

  /** Runs a command in the container, with the image's account and environment, like `podman exec`. */
  run(...command: readonly string[]): Ran {
    const enter = ['-t', String(this.#first()), '-a', '/usr/bin/env', ...asAccount(this.image, this.options)]
    return this.#enter([...enter, 'sh', '-c', 'exec 2>&1; exec "$@"', 'sh', ...command])
  }

  /** Sends a request to a port of the container, with this machine's curl. */
  curl(...args: readonly string[]): Ran {
    return this.#enter(['-t', String(this.#first()), '-n', 'curl', '-sS', ...args])
  }

  #enter(args: readonly string[]): Ran {
    const { status, stdout, stderr } = spawnSync('nsenter', [...args], { encoding: 'utf8' })
    return { status, output: `${stdout}${stderr}` }
  }

  /**
   * Sends a signal to the container's first process, and SIGKILL if it does not exit.
   *
   * @returns its exit status, and the time until all processes had exited
   */
  async stop(signal: NodeJS.Signals): Promise<{ readonly status: number; readonly tookMs: number }> {
    const startedMs = performance.now()
    const closed = once(this.nspawn, 'close')
    const first = this.#first()
    if (first !== undefined) process.kill(first, signal)
    const kill = setTimeout(() => first !== undefined && process.kill(first, 'SIGKILL'), stopMsMax)
    const [status] = await closed
    clearTimeout(kill)
    return { status: status as number, tookMs: performance.now() - startedMs }
  }

  /** The container's first process, by its process id on this machine. */
  #first(): number | undefined {
    return childrenOf(this.nspawn.pid as number)[0]
  }
}

const isolation = [
  ...['--quiet', '--read-only', '--no-new-privileges=yes', '--register=no', '--keep-unit'],
  ...['--link-journal=no', '--resolv-conf=off', '--timezone=off', '--console=pipe'],
]

function binds({ writable, readable }: ContainerOptions): string[] {
  const flags = (flag: string, places: Readonly<Record<string, string>>): string[] =>
    Object.entries(places).map(([target, source]) => `${flag}=${source}:${target}`)
  return [...flags('--bind', writable), ...flags('--bind-ro', readable)]
}

/** Arguments of `env`, before a command, that set the image's account and environment and drop this machine's. */
function asAccount({ config }: Image, { environment }: ContainerOptions): string[] {
  const [user, group] = config.User.split(':')
  const given = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  const account = [`--reuid=${user}`, `--regid=${group}`, '--clear-groups', '--bounding-set=-all', '--inh-caps=-all']
  return [`--chdir=${config.WorkingDir}`, '-i', ...config.Env, ...given, 'setpriv', ...account, '--']
}
