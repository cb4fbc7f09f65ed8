/**
 * Where does the CPU time go? Runs one workload against topicd under V8's sampling profiler, keeps each process's
 * profile (for the Performance panel of Chrome's developer tools), and prints where the busiest one spent its time.
 *
 *     npm run bench:profile -- WORKLOAD [DIRECTORY] [options of npm run bench]
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { thisBuild, topicd } from './contenders/topicd.js'
import { measure } from './measure/interleave.js'
import { program, readOptions, UsageError } from './options.js'
import { resultLines } from './report/table.js'
import { scaleOf, withSession } from './session.js'

/** Microseconds between two samples. */
const intervalMicroseconds = 200

const linesMax = 40

/** The part of a .cpuprofile that is read here. */
interface Profile {
  readonly nodes: readonly { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

await program(async () => {
  const argv = process.argv.slice(2)
  const [name, directoryOrOption] = argv
  if (name === undefined || name.startsWith('--')) throw new UsageError('the name of a workload is needed first')
  const hasDirectory = directoryOrOption !== undefined && !directoryOrOption.startsWith('--')
  const directory = resolve(hasDirectory ? directoryOrOption : 'profiles')
  const options = readOptions([name, ...argv.slice(hasDirectory ? 2 : 1)])
  await mkdir(directory, { recursive: true })
  const before = new Set(await readdir(directory))
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${intervalMicroseconds}`]
  const contender = await topicd({ ...thisBuild, nodeOptions })
  return withSession(options, [contender], async ({ measuring, say }) => {
    const [workload] = options.workloads
    const result = await measure(workload, scaleOf(workload, options), [contender], measuring)
    say(resultLines(result).join('\n'))
    const profiles = (await readdir(directory)).filter((file) => file.endsWith('.cpuprofile') && !before.has(file))
    const read = await Promise.all(
      profiles.map(async (file) => ({
        file,
        ...busy(JSON.parse(await readFile(join(directory, file), 'utf8')) as Profile),
      })),
    )
    const busiest = read.toSorted((a, b) => b.microseconds - a.microseconds)[0]
    if (busiest === undefined) throw new Error(`no profile was written to ${directory}: did the workers end in order?`)
    say(`\n${join(directory, busiest.file)}: ${(busiest.microseconds / 1e6).toFixed(1)} s busy, of which by itself:`)
    for (const { place, part } of busiest.places.slice(0, linesMax))
      say(`${(part * 100).toFixed(1).padStart(6)} %  ${place}`)
    return result.outcomes.every(({ problem }) => problem === undefined)
  })
})

/** Time that is not idle, and the parts of it that functions spent themselves. */
function busy(profile: Profile): { microseconds: number; places: { place: string; part: number }[] } {
  const places = new Map(profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  const spent = new Map<string, number>()
  profile.samples.forEach((id, i) => {
    const place = places.get(id) ?? ''
    if (place !== '(idle)') spent.set(place, (spent.get(place) ?? 0) + profile.timeDeltas[i])
  })
  const microseconds = [...spent.values()].reduce((sum, time) => sum + time, 0)
  const sorted = [...spent].toSorted(([, a], [, b]) => b - a)
  return { microseconds, places: sorted.map(([place, time]) => ({ place, part: time / microseconds })) }
}

function placeOf(frame: Profile['nodes'][number]['callFrame']): string {
  const file = frame.url.replace(/^.*\/(dist|node_modules)\//, '')
  return file === '' ? frame.functionName : `${frame.functionName || '(anonymous)'}  ${file}:${frame.lineNumber + 1}`
}
