/** A page that is fetched repeatedly: by versions, only topics that have changed are sent with their values. */
import type { Client, Page } from '../../client/index.js'

interface PageMembers {
  readonly size?: number
  readonly after?: string
  readonly with_properties?: boolean
}

/** Topics of any type, with versions. @param known fetched with the same members; its current items are reused */
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
