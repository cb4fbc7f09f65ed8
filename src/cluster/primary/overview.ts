/** The service at a glance, for the console: from the figures of the service page, whose samples it shares. */
import type { Overview } from '../../api/console/primary.js'
import { version } from '../../base/version.js'
import type { Metrics } from '../../ops/metrics/metrics.js'
import type { Readiness } from './readiness.js'

export async function overviewOf(
  metrics: Pick<Metrics, 'figures'>,
  readiness: Pick<Readiness, 'notReadyReasons'>,
): Promise<Overview> {
  const { facts, moments } = await metrics.figures(0)
  const { streams = 0, connections = 0 } = moments.at(-1) ?? {}
  const problems = readiness.notReadyReasons()
  const started = new Date(performance.timeOrigin).toISOString()
  const ready = problems.length === 0
  return { version, started, ready, problems, topics: facts?.topics ?? null, streams, connections }
}
