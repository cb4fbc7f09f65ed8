/** All workloads in the order of the tables, and their groups. Pure data. */
import { deepCursor } from './reads/deep-cursor.js'
import { fetchPath } from './reads/fetch-path.js'
import { fetchBesideScan, scanNothing } from './reads/full-scan.js'
import { listChildren } from './reads/list-children.js'
import { literalPrefix } from './reads/literal-prefix.js'
import { page10, page100 } from './reads/page.js'
import { paths100 } from './reads/paths.js'
import { splitPathSkip } from './reads/split-path-skip.js'
import { subtreeDeep, subtreeShallow } from './reads/subtree-page.js'
import type { Workload } from './workload.js'
import { addRemove } from './writes/add-remove.js'
import { batch100, batch1000 } from './writes/batch.js'
import { bigFetch, bigOverwrite } from './writes/big-values.js'
import { cas } from './writes/compare-and-set.js'
import { mixed } from './writes/mixed.js'
import { increment, setOne } from './writes/one-topic.js'
import { overwrite1, overwrite64, overwrite256 } from './writes/overwrite.js'
import { manyPublishers } from './writes/publishers.js'

export const workloads: readonly Workload[] = [
  fetchPath,
  page10,
  page100,
  paths100,
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
  increment,
  setOne,
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

/** Groups whose names the command line accepts in place of their members. */
export const groups: Readonly<Record<string, readonly Workload[]>> = {
  all: workloads,
  usual: workloads.filter((workload) => workload.servers !== 'floor only'),
  selectors: workloads.filter((workload) => workload.servers === 'floor only'),
}
