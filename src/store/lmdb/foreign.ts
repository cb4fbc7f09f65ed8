/**
 * Tells a store of topics from another program's LMDB file, which opening would turn into an empty store.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { readMeta } from './data-pages.js'
import { problemOf } from './preflight.js'

/** A database that every store has, as it is named in the file's main page. */
const databaseName = 'specifications'

/** How the file is damaged, as far as preflight.ts can tell, or that it holds no topics; undefined when it does. */
export function topicsProblem(file: string): string | undefined {
  const problem = problemOf(file)
  if (problem !== undefined) return problem
  const descriptor = openSync(file, 'r')
  try {
    const read = (offset: number, bytes: number): Buffer => {
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, offset))
    }
    const first = readMeta(read, 0)
    const second = first && readMeta(read, first.pageSize)
    const latest = first && second && second.transaction > first.transaction ? second : first
    const root = latest?.mainRoot
    if (latest !== undefined && root !== undefined) {
      if (read(root * latest.pageSize, latest.pageSize).includes(databaseName)) return undefined
    }
    return 'is an LMDB file, but not of topicd'
  } finally {
    closeSync(descriptor)
  }
}
