/**
 * Options of the command line: parsed, checked and given their defaults. A command may add its own options. A wrong option throws a
 * UsageError, which main.ts prints.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { groups, workloads } from './workloads/all.js'
import type { Workload } from './workloads/workload.js'

/** Help for the options that every command takes. */
export const commonOptions = `  --driver NAME         autocannon (default) or wrk
  --seconds N           length of a burst (default 3)
  --rounds N            bursts of each server, interleaved (default 5)
  --workers N           workers of every server (default 1)
  --topics N            topics in the tree; --connections, --value-bytes and --page-size likewise
                        (default: each workload's own)
  --dir DIR             directory for the data of a run, on a real disk (default: the system's temporary directory)
  --keep DIR            directory for loaded data that later runs reuse (default: topicd-bench in that directory)
  --smoke               tiny sizes and one round, to check that everything still runs`

/** The options that every command takes. */
export interface Options {
  readonly driver: 'autocannon' | 'wrk'
  readonly seconds: number
  readonly rounds: number
  readonly workers: number
  readonly topics: number | undefined
  readonly connections: number | undefined
  readonly valueBytes: number | undefined
  readonly pageSize: number | undefined
  /** Parent of the run's temporary directory. */
  readonly directory: string
  /** Directory where loaded data is kept between runs. */
  readonly kept: string
  readonly smoke: boolean
  /** Whether stdout carries the results as JSON. */
  readonly json: boolean
}

/** A wrong command line, described in a sentence. */
export class UsageError extends Error {}

/** A parsed command line. */
interface CommandLine {
  readonly options: Options
  /** Positional arguments, in order. */
  readonly words: readonly string[]
  /** Options of this command only, as given. */
  readonly own: Readonly<Record<string, string | boolean | undefined>>
}

export const text = { type: 'string' } as const
export const flag = { type: 'boolean', default: false } as const

const common = {
  driver: text,
  seconds: text,
  rounds: text,
  workers: text,
  topics: text,
  connections: text,
  'value-bytes': text,
  'page-size': text,
  dir: text,
  keep: text,
  smoke: flag,
}

/**
 * Reads a command line.
 *
 * @param ownOptions options of this command only; `json` among them is parsed here
 * @throws UsageError if an option is wrong
 */
export function readCommandLine(
  argv: readonly string[],
  ownOptions: Readonly<Record<string, typeof text | typeof flag>> = {},
): CommandLine {
  const { values, positionals } = parse({
    args: [...argv],
    allowPositionals: true,
    options: { ...ownOptions, ...common },
  })
  const own = values as CommandLine['own']
  const number = (name: keyof typeof common): number | undefined => positive(name, own[name])
  const driver = own.driver ?? 'autocannon'
  if (driver !== 'autocannon' && driver !== 'wrk') throw new UsageError(`--driver is autocannon or wrk, not ${driver}`)
  const directory = String(own.dir ?? tmpdir())
  const smoke = own.smoke === true
  const options = {
    driver,
    seconds: number('seconds') ?? (smoke ? 0.2 : 3),
    rounds: number('rounds') ?? (smoke ? 1 : 5),
    workers: number('workers') ?? 1,
    topics: number('topics'),
    connections: number('connections'),
    valueBytes: number('value-bytes'),
    pageSize: number('page-size'),
    directory,
    kept: String(own.keep ?? join(directory, 'topicd-bench')),
    smoke,
    json: own.json === true,
  } as const
  return { options, words: positionals, own }
}

/**
 * The workloads with these names, or in groups with these names; the defaults if no names are given.
 *
 * @throws UsageError if a name is unknown
 */
export function workloadsNamed(names: readonly string[], defaults: readonly string[]): readonly Workload[] {
  return (names.length > 0 ? names : defaults).flatMap((name) => {
    const group = groups[name]
    if (group !== undefined) return group
    const workload = workloads.find((workload) => workload.name === name)
    if (workload === undefined) throw new UsageError(`unknown workload "${name}"`)
    return [workload]
  })
}

/** The option's number; undefined if not given. Throws UsageError unless it is above 0. */
export function positive(name: string, value: string | boolean | undefined): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (!(number > 0)) throw new UsageError(`--${name} must be a number above 0, not ${value}`)
  return number
}

function parse(config: ParseArgsConfig): ReturnType<typeof parseArgs> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
