/**
 * The last ten minutes of figures for the console's service page, in the primary's memory, so that charts have history when
 * the page is opened. The service's own samples stay for ten minutes. A page's samples may be one second apart; they stay
 * only while quantiles need them, because the page keeps their moments.
 */
import type { Metric } from '../metrics/metric.js'
import { type ByLabel, type Figures, factGauges, type Moment } from './console-state.js'
import { type Counter, countsOf, increase } from './counts.js'
import { MetricSums } from './metric-sums.js'
import { momentOf, perSecond, type Sample, windowS, windowStart } from './moment.js'

/** The interval between the service's own samples. A sample costs the primary 4 ms, 0.1 % of its time. */
export const sampleMs = 5000

const historyS = 600

/** As many as a person can take in at a glance. */
const keysNamedMax = 10

interface KeptSample extends Sample {
  readonly moment: Moment
  readonly isForPage: boolean
}

export class FiguresHistory {
  #samples: readonly KeptSample[] = []
  /** From the last sample for a page. */
  #now: Omit<Figures, 'moments'> = { keys: [], refusals: {} }

  /** @param metrics of all processes; for a page, they include the store's metrics */
  add(atS: number, metrics: readonly Metric[], isForPage: boolean): void {
    const sums = new MetricSums(metrics)
    // If the clock was set back, the history starts over.
    const before = atS > this.#lastS ? this.#samples : []
    const earlier = before.filter((of) => atS - of.atS < (of.isForPage ? windowS + 2 : historyS))
    const sample = { atS, counts: countsOf(sums) }
    this.#samples = [...earlier, { ...sample, moment: momentOf(sample, sums, earlier), isForPage }]
    if (isForPage) this.#now = figuresOf(sample, sums, earlier)
  }

  /** @param sinceS returns only moments after this; all if this is later than every moment, because the clock was set back */
  figures(sinceS: number): Figures {
    const moments = this.#samples.map(({ moment }) => moment)
    return { ...this.#now, moments: moments.filter(({ atS }) => atS > sinceS || sinceS > this.#lastS) }
  }

  get #lastS(): number {
    return this.#samples.at(-1)?.atS ?? 0
  }
}

function figuresOf(now: Sample, sums: MetricSums, earlier: readonly Sample[]): Omit<Figures, 'moments'> {
  const [first = now] = earlier
  const recent = (counter: Counter): ByLabel => increase(counter, first.counts, now.counts) ?? {}
  const build = sums.labels('topicd_build_info')
  return {
    facts: {
      ...sums.totals(factGauges),
      version: build?.version,
      node: build?.node,
      workerVersions: Object.fromEntries(sums.by('topicd_workers_by_version', ({ version }) => version)),
      recentWorkerRestarts: recent('workerRestarts')[''] ?? 0,
      recentWriterRestarts: recent('writerRestarts')[''] ?? 0,
    },
    refusals: Object.fromEntries(Object.entries(recent('refusals')).filter(([, count]) => count > 0)),
    ...keyUse(recent('keys'), perSecond('keys', windowStart(earlier, now.atS) ?? now, now) ?? {}),
  }
}

/** @param requests in the last ten minutes, by key @param rates over the last 30 s, by key */
function keyUse(requests: ByLabel, rates: ByLabel): Pick<Figures, 'keys' | 'otherKeys'> {
  const used = Object.entries(requests)
    .filter(([, count]) => count > 0)
    .map(([key, count]) => ({ key, perSecond: rates[key] || 0, requests: count }))
    .sort((a, b) => b.perSecond - a.perSecond || b.requests - a.requests)
  const others = used.slice(keysNamedMax)
  const sum = (of: 'perSecond' | 'requests'): number => others.reduce((total, key) => total + key[of], 0)
  return {
    keys: used.slice(0, keysNamedMax),
    otherKeys: { count: others.length, perSecond: sum('perSecond'), requests: sum('requests') },
  }
}
