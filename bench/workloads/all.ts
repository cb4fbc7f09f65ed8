/** All workloads, in the order of the tables, and the groups of them. Pure data. */
import type { Workload } from '../work/workload.js'
import { addRemove } from './add-remove.js'
import { batch100, batch1000 } from './batch.js'
import { bigFetch, bigOverwrite } from './big-values.js'
import { cas } from './compare-and-set.js'
import { deepCursor } from './deep-cursor.js'
import { fetchPath } from './fetch-path.js'
import { fetchBesideScan, scanNothing } from './full-scan.js'
import { listChildren } from './list-children.js'
import { literalPrefix } from './literal-prefix.js'
import { mixed } from './mixed.js'
import { overwrite1, overwrite64, overwrite256 } from './overwrite.js'
import { page10, page100 } from './page.js'
import { manyPublishers } from './publishers.js'
import { splitPathSkip } from './split-path-skip.js'
import { subtreeDeep, subtreeShallow } from './subtree-page.js'

export const workloads: readonly Workload[] = [
  fetchPath,
  page10,
  page100,
  deepCursor,
  overwrite1,
  overwrite64,
  overwrite256,
  addRemove,
  mixed,
  manyPublishers,
  batch100,
  batch1000,
  cas,
  listChildren,
  bigFetch,
  bigOverwrite,
  subtreeShallow,
  subtreeDeep,
  splitPathSkip,
  literalPrefix,
  scanNothing,
  fetchBesideScan,
]

/** Groups that the command line may name instead of their members. */
export const groups: Readonly<Record<string, readonly Workload[]>> = {
  all: workloads,
  usual: workloads.filter((workload) => workload.contenders !== 'floor only'),
  selectors: workloads.filter((workload) => workload.contenders === 'floor only'),
}
