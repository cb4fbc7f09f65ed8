/**
 * What does a scan of 1,000,000 topics without a match cost, and how slow is the median fetch by path while such scans run without
 * pause? (Target: under 5 ms on one worker.)
 */
import type { Operation } from '../operation.js'
import { type Scale, selectorScale, type Workload } from '../workload.js'
import { fetchPath } from './fetch-path.js'

/** A page of a pattern that must be tested on every path and matches no topic. */
function emptyScan(scale: Scale): Operation {
  const selector = { text: '*.*/nothing-is-called-this' }
  return { kind: 'page', selector, after: undefined, size: scale.pageSize, items: [], hasMore: false }
}

export const scanNothing: Workload = {
  name: 'scan-nothing',
  question: 'What does a scan of 1,000,000 topics without a match cost?',
  scale: { ...selectorScale, connections: 1 },
  servers: 'floor only',
  ordered: false,
  scripts: (_tree, scale) => [[emptyScan(scale)]],
}

export const fetchBesideScan: Workload = {
  name: 'fetch-beside-scan',
  question: 'What is the median latency of fetches by path while scans without a match run without pause?',
  scale: { ...selectorScale, connections: 9 },
  servers: 'floor only',
  ordered: true,
  latencyMedianMsMax: 5,
  scripts: (tree, scale, round) => [
    [emptyScan(scale)],
    ...fetchPath.scripts(tree, { ...scale, connections: scale.connections - 1 }, round),
  ],
}
