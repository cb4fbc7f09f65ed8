/**
 * What does a scan of 1,000,000 topics cost that matches nothing, and what does it do to others: what is the median
 * latency of fetches by path while such a scan never stops? (Under 5 ms on one worker.)
 */
import type { Operation } from '../work/operation.js'
import { type Scale, selectorScale, type Workload } from '../work/workload.js'
import { fetchPath } from './fetch-path.js'

/** A pattern that every path must be tried against and none matches. */
function fruitlessScan(scale: Scale): Operation {
  const selector = { text: '*.*/nothing-is-called-this' }
  return { kind: 'page', selector, after: undefined, size: scale.pageSize, items: [], hasMore: false }
}

export const scanNothing: Workload = {
  name: 'scan-nothing',
  question: 'What does a scan of 1,000,000 topics cost that matches nothing?',
  scale: { ...selectorScale, connections: 1 },
  contenders: 'floor only',
  ordered: false,
  scripts: (_tree, scale) => [[fruitlessScan(scale)]],
}

export const fetchBesideScan: Workload = {
  name: 'fetch-beside-scan',
  question: 'What is the median latency of fetches by path while a scan that matches nothing never stops?',
  scale: { ...selectorScale, connections: 9 },
  contenders: 'floor only',
  ordered: true,
  latencyMedianMsMax: 5,
  scripts: (tree, scale, round) => [
    [fruitlessScan(scale)],
    ...fetchPath.scripts(tree, { ...scale, connections: scale.connections - 1 }, round),
  ],
}
