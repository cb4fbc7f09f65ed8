/** The order of names: the service's, by bytes, or natural, by numbers. Names on later pages may fit in between. */
import { storage } from '../session.js'
import type { Child } from './children.js'

export type NameOrder = 'tree' | 'natural'

const storageName = 'topicd-order'

const collator = new Intl.Collator('en', { numeric: true })

export function storedOrder(): NameOrder {
  return storage()?.getItem(storageName) === 'natural' ? 'natural' : 'tree'
}

export function storeOrder(order: NameOrder): void {
  if (order === 'natural') storage()?.setItem(storageName, order)
  else storage()?.removeItem(storageName)
}

/** @param children in tree order, which decides between names that are equal in natural order */
export function inOrder(children: readonly Child[], order: NameOrder): readonly Child[] {
  return order === 'tree' ? children : children.toSorted((a, b) => collator.compare(a.name, b.name))
}
