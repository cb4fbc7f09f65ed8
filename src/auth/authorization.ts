/** The token in an authorization header or, for a refusal, what it has instead. Pure: keyring.ts checks the token. */

/** This API's own scheme, and the one that proxies and client libraries know; the token is the same. */
const tokenLine = /^(?:apikey|bearer) +(\S+) *$/i

const schemeAlone = /^(apikey|bearer) *$/i

/** A word that can only be a scheme: a token is longer, and has other characters. */
const otherScheme = /^([a-z][a-z0-9-]{0,19}) +\S/i

/** The token in a header's value; undefined when there is none in a scheme that is accepted. */
export function tokenOf(authorization: string): string | undefined {
  return tokenLine.exec(authorization)?.[1]
}

/** The content of the header in place of a known token, as a clause that follows "but"; never any part of a token. */
export function describeAuthorization(authorization: string): string {
  if (authorization === '') return 'there is no such header'
  if (tokenOf(authorization) !== undefined) return 'its token is not known'
  const [, alone] = schemeAlone.exec(authorization) ?? []
  if (alone !== undefined) return `no token follows "${alone}"`
  const [, scheme] = otherScheme.exec(authorization) ?? []
  if (scheme === undefined) return 'it contains something else'
  return /^(apikey|bearer)$/i.test(scheme) ? `more than a token follows "${scheme}"` : `its scheme is "${scheme}"`
}
