/**
 * A page of topics that is fetched again and again: versions tell which topics have changed, and only those are fetched
 * with their values, which may be large.
 */
import type { Client, Page } from '../../client/index.js'

interface PageMembers {
  readonly size?: number
  readonly after?: string
  readonly with_properties?: boolean
}

/**
 * One page of the topics of any type that a selector matches, each with its version.
 *
 * @param known what was fetched before with the same members; its items are returned where they are still current
 * @throws what the client throws
 */
export async function freshPage(
  client: Client,
  selector: string,
  members: PageMembers,
  known: Page | undefined,
): Promise<Page> {
  const asked = { ...members, type: 'any', with_version: true } as const
  if (known === undefined || known.results.length === 0) return client.page(selector, asked)
  // Without values, more would fit on a page that the bytes of its values have ended.
  const size = known.has_more ? known.results.length : members.size
  const { has_more, results } = await client.page(selector, { ...asked, size, with_values: false })
  const items = new Map(known.results.map((item) => [item.path, item]))
  const changed = results.filter(({ path, version }) => items.get(path)?.version !== version).map(({ path }) => path)
  const { with_properties } = members
  const fetched =
    changed.length === 0 ? [] : await client.getMany(changed, { type: 'any', with_version: true, with_properties })
  for (const [index, path] of changed.entries()) {
    const item = fetched[index]
    // Removed a moment ago: the next page will not have it either.
    if (item === undefined) items.delete(path)
    else items.set(path, item)
  }
  return { has_more, results: results.flatMap(({ path }) => items.get(path) ?? []) }
}
