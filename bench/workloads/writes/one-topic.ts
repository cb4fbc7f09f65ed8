/**
 * Does a counter that everyone increments cost more than a topic that everyone sets? 64 connections write one topic, by increments of 1 and
 * by plain sets of other values. The response to an increment contains the sum. After a burst the counter must equal the number of
 * acknowledged increments.
 */
import type { Script } from '../operation.js'
import type { Tree } from '../tree.js'
import { type Scale, usualScale, variantsOf, type Workload } from '../workload.js'

const counterPath = 'one/counter'
const valuePath = 'one/value'

const peers = ['redis + webdis', 'etcd']

export const increment: Workload = {
  name: 'increment',
  question: 'What does a durable increment cost when all connections increment the same topic?',
  scale: usualScale,
  servers: peers,
  // Only the driver that waits for all responses knows the number of increments.
  ordered: true,
  scripts: (_tree, { connections }) =>
    Array.from({ length: connections }, (): Script => [{ kind: 'increment', path: counterPath }]),
  before: () => [{ kind: 'counter', path: counterPath, value: '0' }],
}

/** A number that no other connection sets, and that this connection sets only every second time. */
function numberOf(connection: number, variant: number): string {
  return String(variant * 10_000 + connection)
}

export const setOne: Workload = {
  name: 'set-one',
  question: 'What does a durable set cost when all connections set the same topic?',
  scale: usualScale,
  servers: peers,
  ordered: true,
  scripts: (_tree: Tree, { connections }: Scale, round) =>
    Array.from({ length: connections }, (_, connection) =>
      variantsOf(round).map((variant) => ({
        kind: 'set' as const,
        path: valuePath,
        value: numberOf(connection, variant),
      })),
    ),
  before: (_scale, round) => (round > 0 ? [] : [{ kind: 'create', path: valuePath, value: '0' }]),
}
