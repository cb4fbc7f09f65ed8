/**
 * What does each workload cost? Measures every server in the workloads that it supports, interleaved and with checked responses, and probes
 * which guarantees each server keeps.
 *
 *     npm run bench -- [WORKLOAD…] [options]
 *
 * The figure is server CPU time per request, and its ratio to a bare uWebSockets.js server that returns a constant of the same size, in the
 * same run on the same cores. The ratio is stable on a noisy machine; requests per second are not.
 */
import { checkGuarantees, type GuaranteeRow } from '../measure/guarantees.js'
import type { Result } from '../measure/result.js'
import { flag, readCommandLine, text, UsageError, workloadsNamed } from '../options.js'
import { guaranteeTable, ratioTable, verdicts } from '../report/table.js'
import { bare } from '../servers/bare.js'
import { serversNamed } from '../servers/chosen.js'
import { peers } from '../servers/peers.js'
import type { Server } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { allCorrect, measureAll, type Session, withSession } from '../session.js'
import type { Workload } from '../workloads/workload.js'

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { servers: text, json: flag })
  const workloads = workloadsNamed(words, [options.smoke ? 'all' : 'usual'])
  const names = typeof own.servers === 'string' ? own.servers.split(',') : undefined
  const servers = serversNamed([bare, await topicd(thisBuild), ...peers], names, thisBuild.name)
  const idle = servers.find((server) => !workloads.some((workload) => takesPart(workload, server)))
  if (idle !== undefined && names !== undefined)
    throw new UsageError(`${idle.name} takes part in none of these workloads`)
  return withSession(options, servers, async (session) => {
    const results = await measureAll(session, workloads, (workload) =>
      servers.filter((server) => takesPart(workload, server)),
    )
    const storing = servers.filter(({ dataFormat }) => dataFormat !== undefined)
    const comparable = storing.length > 1 ? storing : []
    const guarantees = await checkGuarantees(comparable, session.measureOptions, options.smoke)
    show(session, results, guarantees)
    return allCorrect(results)
  })
}

/** Whether a server takes part in a workload. */
function takesPart({ servers }: Workload, server: Server): boolean {
  if (Array.isArray(servers) && servers.includes(server.name)) return true
  return servers === 'all' || server === bare || server.name === thisBuild.name
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
