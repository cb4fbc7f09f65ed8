/**
 * What does a request cost when nine of ten are fetches by path and one is a durable write, all of the same topics? A fetch may return any
 * value that this workload writes to its topic, and no other.
 */
import type { Operation, Script } from '../operation.js'
import { seeded, type Tree } from '../tree.js'
import { deal, distinctRequests, everyVariant, type Scale, usualScale, variantsOf, type Workload } from '../workload.js'

/** Fetches per write. */
const fetchesPerWrite = 9

/** Each connection writes its own topics and reads all of them. */
function mixedScripts(tree: Tree, scale: Scale, round: number): readonly Script[] {
  const responseBytes = everyVariant.length * (tree.valueBytes + 128)
  const writes = distinctRequests(4 * responseBytes, scale.connections)
  const indices = tree.sample(Math.max(writes, scale.connections), 500)
  const random = seeded(501 + round)
  const fetches = indices.map((index): Operation => {
    return { kind: 'fetch', path: tree.path(index), values: everyVariant.map((variant) => tree.value(index, variant)) }
  })
  const someFetch = (): readonly Operation[] => {
    const index = Math.floor(random() * fetches.length)
    return fetches.slice(index, index + 1)
  }
  return deal(indices, scale.connections).map((own) =>
    variantsOf(round).flatMap((variant) =>
      own.flatMap((index): Operation[] => [
        ...Array.from({ length: fetchesPerWrite }, someFetch).flat(),
        { kind: 'overwrite', path: tree.path(index), value: tree.value(index, variant) },
      ]),
    ),
  )
}

export const mixed: Workload = {
  name: 'mixed-90-10',
  question: 'What does a request cost when nine of ten are fetches by path and one is a durable write?',
  scale: usualScale,
  servers: 'all',
  ordered: false,
  scripts: mixedScripts,
}
