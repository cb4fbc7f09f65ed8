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
  const { streams = 0, polls = 0, connections = 0, responses } = moments.at(-1) ?? {}
  const problems = readiness.notReadyReasons()
  const perSecond = responses && Object.values(responses).reduce((sum, rate) => sum + rate, 0)
  return {
    version,
    started: new Date(performance.timeOrigin).toISOString(),
    ready: problems.length === 0,
    problems,
    topics: facts?.topics ?? null,
    streams,
    polls,
    connections,
    requests_per_second: perSecond && Math.round(perSecond * 10) / 10,
  }
}
