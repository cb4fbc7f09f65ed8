/** What do a fetch and a durable write of a value of 100 KB cost? */
import { fetchPath } from '../reads/fetch-path.js'
import { usualScale, type Workload } from '../workload.js'
import { overwrites } from './overwrite.js'

const scale = { ...usualScale, topics: 1000, valueBytes: 100_000, connections: 16 }

export const bigFetch: Workload = {
  ...fetchPath,
  name: 'big-fetch',
  question: 'What does a fetch by path of a value of 100 KB cost?',
  scale,
  ratioMax: undefined,
}

export const bigOverwrite: Workload = {
  name: 'big-overwrite',
  question: 'What does a durable addAndSet of a value of 100 KB cost?',
  scale,
  servers: 'all',
  ordered: false,
  scripts: overwrites,
}
