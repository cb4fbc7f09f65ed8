/**
 * What does each workload cost? Measures every contender in every workload, interleaved and with checked answers, and
 * finds out which guarantees each contender keeps.
 *
 *     npm run bench -- [WORKLOAD…] [options]
 *
 * The figure is server CPU time per request, and its ratio to a bare uWebSockets.js server that answers a constant of
 * the same size, in the same run on the same cores. The ratio is stable on a noisy machine; requests per second are
 * not.
 */
import { bare } from '../contenders/bare.js'
import type { Contender } from '../contenders/contender.js'
import { etcd } from '../contenders/etcd.js'
import { fastify } from '../contenders/fastify.js'
import { redis } from '../contenders/redis.js'
import { thisBuild, topicd } from '../contenders/topicd.js'
import { checkGuarantees, type GuaranteeRow } from '../measure/guarantees.js'
import type { Result } from '../measure/result.js'
import { flag, readCommandLine, text, UsageError, workloadsNamed } from '../options.js'
import { guaranteeTable, ratioTable, verdicts } from '../report/table.js'
import { allCorrect, measureAll, type Session, withSession } from '../session.js'

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { contenders: text, json: flag })
  const workloads = workloadsNamed(words, [options.smoke ? 'all' : 'usual'])
  const names = typeof own.contenders === 'string' ? own.contenders.split(',') : undefined
  const contenders = chosen([bare, await topicd(thisBuild), fastify, redis, etcd], names)
  return withSession(options, contenders, async (session) => {
    const results = await measureAll(session, workloads, (workload) =>
      contenders.filter(({ name }) => workload.contenders === 'all' || name === 'bare' || name === 'topicd'),
    )
    const storing = contenders.filter(({ dataFormat }) => dataFormat !== undefined)
    const comparable = storing.length > 1 ? storing : []
    const guarantees = await checkGuarantees(comparable, session.measureOptions, options.smoke)
    show(session, results, guarantees)
    return allCorrect(results)
  })
}

/**
 * The named contenders; without names, all that can run, and a line on standard error for each that cannot.
 *
 * @throws UsageError when a name is unknown, or a named contender or topicd cannot run
 */
function chosen(all: readonly Contender[], names: readonly string[] | undefined): Contender[] {
  for (const name of names ?? []) {
    if (!all.some((contender) => hasName(contender, name))) throw new UsageError(`unknown contender "${name}"`)
  }
  const wanted = names === undefined ? all : all.filter((contender) => names.some((name) => hasName(contender, name)))
  for (const { name, missing } of wanted) {
    if (missing === undefined) continue
    if (name === 'topicd' || names !== undefined) throw new UsageError(`${name} cannot run: ${missing}`)
    console.error(`LEFT OUT: ${name}: ${missing}`)
  }
  return wanted.filter(({ missing }) => missing === undefined)
}

function hasName(contender: Contender, name: string): boolean {
  return contender.name === name || contender.name.split(' ')[0] === name
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
