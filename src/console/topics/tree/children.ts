/**
 * The children of a path, listed page by page: at most two results of each branch tell whether there is a topic at the
 * child itself, and whether there are more below it. Nothing is kept here.
 */
import { type Client, descendants, type Item, subtree } from '../../../client/index.js'
import { segmentsOf } from '../../../client/selectors.js'

export interface Child {
  readonly path: string
  readonly name: string
  /** True if there is a topic at the path itself. */
  readonly isTopic: boolean
  readonly hasChildren: boolean
}

export interface Listing {
  readonly children: readonly Child[]
  /** The start of the next page; undefined after the last. */
  readonly after: string | undefined
}

/** A readable hundred topics, or fifty branches; one more result tells that the hundredth has no children. */
const pageSize = 101

const everything = '?.*//'

/** In tree order; an empty `parent` is the top. @param sizeMax the largest page that the service allows */
export async function listChildren(
  client: Client,
  sizeMax: number,
  parent: string,
  after: string | undefined,
): Promise<Listing> {
  const level = parent === '' ? 1 : segmentsOf(parent).length + 1
  const { results, has_more } = await client.page(parent === '' ? everything : descendants(parent), {
    type: 'any',
    with_values: false,
    deep_branch_depth: level,
    deep_branch_limit: 2,
    size: Math.min(pageSize, sizeMax),
    ...(after === undefined ? {} : { after }),
  })
  const listed = has_more ? withoutCut(results, level) : results
  return { children: childrenIn(listed, level), after: has_more ? listed.at(-1)?.path : undefined }
}

/** The child as its level would list it; undefined if there is no topic at it or below. */
export async function describeChild(client: Client, path: string): Promise<Child | undefined> {
  // The topic itself, if there is one, and one below it suffice.
  const { results } = await client.page(subtree(path), { type: 'any', with_values: false, size: 2 })
  return childrenIn(results, segmentsOf(path).length)[0]
}

/** If the last child may have another result, it begins the next page. */
function withoutCut(results: readonly Item[], level: number): readonly Item[] {
  const childOf = ({ path }: Item): string => path.split('/').slice(0, level).join('/')
  const [before, last] = results.slice(-2)
  const isCut = before !== undefined && last !== undefined && childOf(before) !== childOf(last)
  return isCut ? results.slice(0, -1) : results
}

function childrenIn(results: readonly Item[], level: number): readonly Child[] {
  const children = new Map<string, Child>()
  for (const { path } of results) {
    const segments = path.split('/')
    const childPath = segments.slice(0, level).join('/')
    const isTopic = segments.length === level
    const known = children.get(childPath)
    children.set(childPath, {
      path: childPath,
      name: segments[level - 1] ?? '',
      isTopic: isTopic || known?.isTopic === true,
      hasChildren: !isTopic || known?.hasChildren === true,
    })
  }
  return [...children.values()]
}
