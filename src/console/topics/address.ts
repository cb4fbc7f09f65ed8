/**
 * The page's address, which identifies the view, so that views can be linked and the browser's "back" works. It is `#PATH`,
 * `#?SELECTOR`, `#=SELECTOR` for changes, or `#@keys` for the API keys. Each part is encoded as a URI component, so a path
 * never starts with one of these marks.
 */

/** `wrong` is a path that no topic can have. */
type Place =
  | { readonly path: string }
  | { readonly selector: string; readonly isOfChanges: boolean }
  | 'nothing'
  | 'keys'
  | 'wrong'

export const addressOfKeys = '#@keys'

function address(mark: string, text: string): string {
  return `#${mark}${encodeURIComponent(text.toWellFormed())}`
}

export function addressOfPath(path: string): string {
  return address('', path)
}

export function addressOfSelector(selector: string): string {
  return address('?', selector)
}

export function addressOfChanges(selector: string): string {
  return address('=', selector)
}

export function placeAt(hash: string): Place {
  if (hash === addressOfKeys) return 'keys'
  const address = hash.slice(1)
  const isOfChanges = address.startsWith('=')
  if (isOfChanges || address.startsWith('?')) return { selector: decoded(address.slice(1)), isOfChanges }
  const path = decoded(address).replace(/^\/|\/$/g, '')
  if (path === '') return 'nothing'
  return /^\/|\/\/|\/$/.test(path) ? 'wrong' : { path }
}

/** Decodes part of an address, unless the user mistyped it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
