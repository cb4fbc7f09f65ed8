/**
 * Tells a store of topics from another program's LMDB file, which opening would turn into an empty store.
 */
import { readSync } from 'node:fs'
import { readMeta } from './data-pages.js'
import { problemOf } from './preflight.js'

/** A database that every store has, as it is named in the file's main page. */
const databaseName = 'specifications'

/**
 * Why an open file is no store of topics, as far as its first pages tell, as the rest of a sentence about it; undefined
 * when it seems to be one.
 */
export function topicsProblem(descriptor: number): string | undefined {
  const problem = problemOf(descriptor)
  if (problem !== undefined) return problem
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
  return "is an LMDB file, but not topicd's"
}
