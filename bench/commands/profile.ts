/**
 * Where does the CPU time go? Runs one workload on topicd under V8's sampling profiler, writes the profile of each process (for the
 * Performance panel of Chrome's developer tools), and prints the functions in which the busiest process spent its time.
 *
 *     npm run bench -- profile WORKLOAD [--output DIR] [options]
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readCommandLine, text, UsageError, workloadsNamed } from '../options.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { allCorrect, measureAll, withSession } from '../session.js'

/** Microseconds between two samples. */
const intervalMicroseconds = 200

/** Number of functions to print, the busiest first. */
const linesMax = 40

/** The members of a .cpuprofile that are read here. */
interface Profile {
  readonly nodes: readonly { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The busy time, and each function's share of it, excluding the functions that it called. */
interface BusyTime {
  readonly microseconds: number
  readonly functions: readonly { readonly name: string; readonly share: number }[]
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { output: text })
  const workloads = workloadsNamed(words, [])
  if (workloads.length !== 1) throw new UsageError('profile needs the name of one workload')
  const directory = resolve(String(own.output ?? 'profiles'))
  await mkdir(directory, { recursive: true })
  const before = new Set(await readdir(directory))
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${intervalMicroseconds}`]
  const server = await topicd({ ...thisBuild, nodeOptions })
  return withSession(options, [server], async (session) => {
    const results = await measureAll(session, workloads, () => [server])
    const files = (await readdir(directory)).filter((file) => file.endsWith('.cpuprofile') && !before.has(file))
    const profiles = await Promise.all(files.map(async (file) => ({ file, ...(await readProfile(directory, file)) })))
    const [busiest] = profiles.toSorted((a, b) => b.microseconds - a.microseconds)
    if (busiest === undefined) throw new Error(`no profile was written to ${directory}: did the workers exit cleanly?`)
    session.print(
      `\n${join(directory, busiest.file)}: busy for ${(busiest.microseconds / 1e6).toFixed(1)} s; self time:`,
    )
    for (const { name, share } of busiest.functions.slice(0, linesMax))
      session.print(`${(share * 100).toFixed(1).padStart(6)} %  ${name}`)
    return allCorrect(results)
  })
}

async function readProfile(directory: string, file: string): Promise<BusyTime> {
  return busyTime(JSON.parse(await readFile(join(directory, file), 'utf8')) as Profile)
}

function busyTime({ nodes, samples, timeDeltas }: Profile): BusyTime {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, functionName(callFrame)]))
  const spent = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const name = names.get(id) ?? ''
    if (name !== '(idle)') spent.set(name, (spent.get(name) ?? 0) + (timeDeltas[i] ?? 0))
  }
  const microseconds = [...spent.values()].reduce((sum, time) => sum + time, 0)
  const sorted = [...spent].toSorted(([, a], [, b]) => b - a)
  return { microseconds, functions: sorted.map(([name, time]) => ({ name, share: time / microseconds })) }
}

function functionName(frame: Profile['nodes'][number]['callFrame']): string {
  const file = frame.url.replace(/^.*\/(dist|node_modules)\//, '')
  return file === '' ? frame.functionName : `${frame.functionName || '(anonymous)'}  ${file}:${frame.lineNumber + 1}`
}
