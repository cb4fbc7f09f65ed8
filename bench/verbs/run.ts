/**
 * What does each workload cost? Measures every contender in the workloads that it can do, interleaved and with checked answers, and
 * finds out which guarantees each contender keeps.
 *
 *     npm run bench -- [WORKLOAD…] [options]
 *
 * The figure is server CPU time per request, and its ratio to a bare uWebSockets.js server that answers a constant of
 * the same size, in the same run on the same cores. The ratio is stable on a noisy machine; requests per second are
 * not.
 */
import { bare } from '../contenders/bare.js'
import { contendersNamed } from '../contenders/chosen.js'
import type { Contender } from '../contenders/contender.js'
import { file } from '../contenders/file.js'
import { peers } from '../contenders/peers.js'
import { thisBuild, topicd } from '../contenders/topicd.js'
import { checkGuarantees, type GuaranteeRow } from '../measure/guarantees.js'
import type { Result } from '../measure/result.js'
import { flag, readCommandLine, text, UsageError, workloadsNamed } from '../options.js'
import { guaranteeTable, ratioTable, verdicts } from '../report/table.js'
import { allCorrect, measureAll, type Session, withSession } from '../session.js'
import type { Workload } from '../work/workload.js'

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { contenders: text, json: flag })
  const workloads = workloadsNamed(words, [options.smoke ? 'all' : 'usual'])
  const names = typeof own.contenders === 'string' ? own.contenders.split(',') : undefined
  const contenders = contendersNamed([bare, file, await topicd(thisBuild), ...peers], names, thisBuild.name)
  const idle = contenders.find((contender) => !workloads.some((workload) => takesPart(workload, contender)))
  if (idle !== undefined && names !== undefined)
    throw new UsageError(`${idle.name} takes part in none of these workloads`)
  return withSession(options, contenders, async (session) => {
    const results = await measureAll(session, workloads, (workload) =>
      contenders.filter((contender) => takesPart(workload, contender)),
    )
    const storing = contenders.filter(({ dataFormat }) => dataFormat !== undefined)
    const comparable = storing.length > 1 ? storing : []
    const guarantees = await checkGuarantees(comparable, session.measureOptions, options.smoke)
    show(session, results, guarantees)
    return allCorrect(results)
  })
}

/** Which contenders take part in a workload. */
function takesPart({ contenders, besideFile }: Workload, contender: Contender): boolean {
  if (contender === file) return besideFile === true
  if (Array.isArray(contenders) && contenders.includes(contender.name)) return true
  return contenders === 'all' || contender === bare || contender.name === thisBuild.name
}

function show(session: Session, results: readonly Result[], guarantees: readonly GuaranteeRow[]): void {
  const { machine, options, print } = session
  if (options.json) {
    console.log(JSON.stringify({ machine, workers: options.workers, results, guarantees }, undefined, 2))
    return
  }
  print(`\n${ratioTable(results).join('\n')}`)
  if (guarantees.some(({ kept }) => Object.keys(kept).length > 0)) print(`\n${guaranteeTable(guarantees).join('\n')}`)
  const missed = results.flatMap((result) =>
    verdicts(result)
      .filter(({ met }) => !met)
      .map(({ words }) => `${result.workload}: ${words}`),
  )
  if (missed.length > 0) print(`\n${missed.join('\n')}`)
}
