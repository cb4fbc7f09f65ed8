/**
 * The machine and the versions of a benchmark, as one line, and warnings about conditions that make its figures doubtful.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's directory; the compiled benchmark is in dist-bench, one level below. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Load average before the run above which the machine counts as busy. */
const loadAverageMax = 0.5

const fileSystems: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  2035054128: 'overlayfs',
  16914836: 'tmpfs',
}

export interface Machine {
  readonly line: string
  /** Facts that a reader should know before trusting the figures. */
  readonly warnings: readonly string[]
}

/**
 * @param directory that holds the servers' data
 * @param versions names and versions of everything that takes part
 */
export function machine(directory: string, versions: readonly string[]): Machine {
  const processors = cpus()
  const model = processors[0]?.model.trim() ?? 'unknown processor'
  const fileSystem = fileSystems[statfsSync(directory).type] ?? 'an unknown file system'
  const revision = commandOutput('git', ['-C', root, 'describe', '--always', '--dirty']) ?? 'no git revision'
  const [load = 0] = loadavg()
  const parts = [
    `${processors.length} × ${model}`,
    `${Math.round(totalmem() / 1024 ** 3)} GiB`,
    `Linux ${release()}`,
    `data on ${fileSystem}`,
    `Node ${process.versions.node}`,
    ...versions,
    `revision ${revision}`,
    `load average ${load.toFixed(2)}`,
  ]
  const warnings = []
  if (load > loadAverageMax) warnings.push(`The machine was busy before the run (load average ${load.toFixed(2)}).`)
  if (fileSystem === 'tmpfs')
    warnings.push(`${directory} is in memory, where a flush costs nothing: figures of writes mean nothing. Use --dir.`)
  return { line: parts.join(' · '), warnings }
}

/** The version of an installed package of this project. */
export function packageVersion(name: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
      .version
  } catch {
    return undefined
  }
}

/** The first match of `pattern` in the version that a program prints; undefined if the program is not installed. */
export function programVersion(command: string, args: readonly string[], pattern: RegExp): string | undefined {
  const output = commandOutput(command, args)
  return output === undefined ? undefined : (pattern.exec(output)?.[0] ?? 'of unknown version')
}

function commandOutput(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
