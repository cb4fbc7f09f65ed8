/** Finds the token in an authorization header or, for a rejection, describes the header. Pure: keyring.ts checks the token. */

/** `Apikey` is this API's own scheme; proxies and client libraries know `Bearer`. Both take the same token. */
const tokenLine = /^(?:apikey|bearer) +(\S+) *$/i

const schemeAlone = /^(apikey|bearer) *$/i

/** A word that can only be a scheme: tokens are longer and contain other characters. */
const otherScheme = /^([a-z][a-z0-9-]{0,19}) +\S/i

/** The token in a header's value; undefined if the header has no token in an accepted scheme. */
export function tokenOf(authorization: string): string | undefined {
  return tokenLine.exec(authorization)?.[1]
}

/** Describes a header without a known token, as a clause that follows "but". Never contains any part of a token. */
export function describeAuthorization(authorization: string): string {
  if (authorization === '') return 'there is no authorization header'
  if (tokenOf(authorization) !== undefined) return 'its token is unknown'
  const [, alone] = schemeAlone.exec(authorization) ?? []
  if (alone !== undefined) return `no token follows "${alone}"`
  const [, scheme] = otherScheme.exec(authorization) ?? []
  if (scheme === undefined) return 'the header is not "Apikey" or "Bearer" followed by a space and a token'
  return /^(apikey|bearer)$/i.test(scheme)
    ? `unexpected text follows the token after "${scheme}"`
    : `the scheme of the header is "${scheme}"`
}
