/**
 * In which order the tree shows names: the service's, by bytes, or natural, where numbers count as numbers. Only the
 * names that were listed can be sorted: those of later pages may belong between them.
 */
import { storage } from '../session.js'
import type { Child } from './children.js'

export type NameOrder = 'tree' | 'natural'

const storageName = 'topicd-order'

const collator = new Intl.Collator('en', { numeric: true })

/** What was chosen in this tab. */
export function storedOrder(): NameOrder {
  return storage()?.getItem(storageName) === 'natural' ? 'natural' : 'tree'
}

/** Keeps a choice for this tab. */
export function storeOrder(order: NameOrder): void {
  if (order === 'natural') storage()?.setItem(storageName, order)
  else storage()?.removeItem(storageName)
}

/** @param children in tree order, which decides between names that natural order does not tell apart */
export function inOrder(children: readonly Child[], order: NameOrder): readonly Child[] {
  return order === 'tree' ? children : children.toSorted((a, b) => collator.compare(a.name, b.name))
}
