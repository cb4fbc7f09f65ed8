/**
 * Does a counter that everyone adds to cost more than a topic that everyone sets? 64 connections write one topic, by
 * increments of 1 and by plain sets of other values. An increment's answer tells the sum; after a burst the topic must hold
 * as many as were acknowledged.
 */
import type { Script } from '../operation.js'
import type { Tree } from '../tree.js'
import { type Scale, usualScale, variantsOf, type Workload } from '../workload.js'

const counterPath = 'one/counter'
const valuePath = 'one/value'

const peers = ['redis + webdis', 'etcd']

export const increment: Workload = {
  name: 'increment',
  question: 'What does a durable increment of a topic cost that all connections increment?',
  scale: usualScale,
  servers: peers,
  // Only the driver that waits for all answers knows how many increments there were.
  ordered: true,
  scripts: (_tree, { connections }) =>
    Array.from({ length: connections }, (): Script => [{ kind: 'increment', path: counterPath }]),
  before: () => [{ kind: 'counter', path: counterPath, value: '0' }],
}

/** A number that no other connection sets, and this one only every second time. */
function numberOf(connection: number, variant: number): string {
  return String(variant * 10_000 + connection)
}

export const setOne: Workload = {
  name: 'set-one',
  question: 'What does a durable set of a topic cost that all connections set?',
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
