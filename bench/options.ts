/** The command line of the benchmarks: what is asked for, checked, with its defaults. A wrong option ends in a message. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Workload } from './work/workload.js'
import { groups, workloads } from './workloads/all.js'

export const usage = `npm run bench -- [WORKLOAD…] [options]

  WORKLOAD              ${workloads.map(({ name }) => name).join(', ')};
                        or a group: ${Object.keys(groups).join(', ')} (default: usual)
  --contenders NAMES    bare,topicd,fastify,redis,etcd, separated by commas (default: all that are installed)
  --driver NAME         autocannon (default) or wrk
  --seconds N           length of a burst (default 3)
  --rounds N            bursts of each contender, interleaved (default 5)
  --workers N           workers of every contender (default 1)
  --topics N            topics in the tree; --connections, --value-bytes and --page-size likewise (default: each workload's own)
  --dir DIR             where data lies while it is used: a real disk (default: the system's directory for temporary files)
  --keep DIR            where loaded data is kept for the next run (default: topicd-bench in that directory)
  --smoke               everything tiny and once: does it still run?
  --json                results as JSON on stdout, and nothing else there`

/** Everything that a run needs to know. */
export interface Options {
  readonly workloads: readonly Workload[]
  readonly contenders: readonly string[] | undefined
  readonly driver: 'autocannon' | 'wrk'
  readonly seconds: number
  readonly rounds: number
  readonly workers: number
  readonly topics: number | undefined
  readonly connections: number | undefined
  readonly valueBytes: number | undefined
  readonly pageSize: number | undefined
  readonly temporary: string
  readonly kept: string
  readonly smoke: boolean
  readonly json: boolean
  /** What is neither an option nor a workload; only `compare` takes any. */
  readonly others: readonly string[]
}

/** A wrong command line, in a sentence. */
export class UsageError extends Error {}

/**
 * Reads a command line.
 *
 * @param othersMax how many positional arguments may come before the workloads
 */
export function readOptions(argv: readonly string[], othersMax = 0): Options {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parse({
    args: [...argv],
    allowPositionals: true,
    options: {
      contenders: text,
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
      json: flag,
    },
  })
  const others = positionals.slice(0, othersMax)
  const names = positionals.slice(othersMax)
  const driver = values.driver ?? 'autocannon'
  if (driver !== 'autocannon' && driver !== 'wrk') throw new UsageError(`--driver is autocannon or wrk, not ${driver}`)
  const temporary = values.dir ?? tmpdir()
  const number = (name: keyof typeof values): number | undefined => positive(name, values[name] as string | undefined)
  return {
    workloads: (names.length > 0 ? names : [values.smoke ? 'all' : 'usual']).flatMap(named),
    contenders: values.contenders?.split(','),
    driver,
    seconds: number('seconds') ?? (values.smoke ? 0.2 : 3),
    rounds: number('rounds') ?? (values.smoke ? 1 : 5),
    workers: number('workers') ?? 1,
    topics: number('topics'),
    connections: number('connections'),
    valueBytes: number('value-bytes'),
    pageSize: number('page-size'),
    temporary,
    kept: values.keep ?? join(temporary, 'topicd-bench'),
    smoke: values.smoke,
    json: values.json,
    others,
  }
}

/** Runs a program's body: prints a wrong command line's message, and ends with 2, or 1 when the body is false. */
export async function program(body: () => Promise<boolean>): Promise<void> {
  try {
    process.exitCode = (await body()) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`${error.message}\n\n${usage}`)
    process.exitCode = 2
  }
}

function parse<Config extends Parameters<typeof parseArgs>[0]>(
  config: Config,
): ReturnType<typeof parseArgs<Config & object>> {
  try {
    return parseArgs(config as Config & object)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function named(name: string): readonly Workload[] {
  const group = groups[name]
  if (group !== undefined) return group
  const workload = workloads.find((workload) => workload.name === name)
  if (workload === undefined) throw new UsageError(`there is no workload ${name}`)
  return [workload]
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!(value > 0)) throw new UsageError(`--${name} is a number above 0, not ${text}`)
  return value
}
