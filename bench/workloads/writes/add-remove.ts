/**
 * What do a durable add and a durable remove of one topic cost? Each connection adds and removes its own topics in turn, so every response
 * is known: created, then one removed. The figure is per request; a pair costs twice as much.
 */
import { deal, usualScale, type Workload } from '../workload.js'

const pathsPerConnection = 16

function paths(connections: number): string[] {
  return Array.from({ length: connections * pathsPerConnection }, (_, i) => `b/pair/${String(i).padStart(6, '0')}`)
}

export const addRemove: Workload = {
  name: 'add-remove',
  question: 'What do a durable add and a durable remove of one topic cost?',
  scale: usualScale,
  servers: 'all',
  ordered: true,
  scripts(_tree, scale) {
    return deal(paths(scale.connections), scale.connections).map((own) =>
      own.flatMap((path) => [
        { kind: 'add' as const, path },
        { kind: 'remove' as const, path },
      ]),
    )
  },
  before(scale) {
    return paths(scale.connections).map((path) => ({ kind: 'remove', path }))
  },
}
