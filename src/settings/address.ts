/**
 * The address of a store: its engine, its validity and its printable parts. Code that prints an address, in the log or in a
 * message, prints the result of `redactAddress`. No engine is loaded here.
 */

/**
 * An exclusive store belongs to one service at a time, whose processes open it in the order that
 * cluster/primary/store-opening.ts ensures.
 */
export function isExclusive(address: string): boolean {
  return address === 'lmdb'
}

const postgresForm =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?:(?<account>[^/?#]*)@)?(?<host>[^/?#@]*)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/

/** A parameter whose value is a secret: `password` and `sslpassword`, in either case. */
const secretParameter = /pass/i

/** True for any string that starts like a PostgreSQL address. */
export function isPostgresAddress(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text)
}

/**
 * An address whose password could end in two places is invalid: it might be split in the wrong place, and a part of the
 * password used as a host.
 */
export function parseAddress(text: string): string | { readonly problem: string } {
  if (isExclusive(text)) return text
  if (!isPostgresAddress(text)) return { problem: 'must be lmdb or postgres://…' }
  const parts = partsOf(text)
  const isClear =
    parts !== undefined &&
    !parts.path.includes('@') &&
    !parts.query.split('&').some((parameter) => nameOf(parameter).includes('@'))
  if (isClear) return text
  return {
    problem: 'must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, with %23, %2F, %3F for #, /, ? in user and password',
  }
}

/**
 * Returns the address with `***` for each password. If the text is not an address, or is ambiguous, only its scheme is
 * kept, because a password in it could end anywhere. A single word of up to 16 characters is returned unchanged.
 */
export function redactAddress(text: string): string {
  const parts = partsOf(text)
  if (parts !== undefined) {
    const { scheme, account, host, path, query } = parts
    const shownAccount = account === undefined ? '' : `${account.replace(/:.*/s, ':***')}@`
    const shownQuery = query === '' ? '' : `?${query.split('&').map(redactParameter).join('&')}`
    if (!`${path}${shownQuery}`.includes('@')) return `${scheme}${shownAccount}${host}${path}${shownQuery}`
  }
  if (/^\w{1,16}$/.test(text)) return text
  return `${/^\w+:\/\//.exec(text)?.[0] ?? ''}***`
}

interface Parts {
  readonly scheme: string
  readonly account: string | undefined
  readonly host: string
  readonly path: string
  readonly query: string
}

function partsOf(text: string): Parts | undefined {
  const { scheme, account, host, path = '', query = '' } = postgresForm.exec(text)?.groups ?? {}
  if (scheme === undefined || host === undefined) return undefined
  const parts = { scheme, account, host, path, query }
  // pg accepts an account without a host, which is not a valid URL: a dummy host makes it one.
  const hosts = host.split(',').map((one) => (one === '' && account !== undefined ? 'host' : one))
  return hosts.every((one) => URL.canParse(assembled({ ...parts, host: one }))) ? parts : undefined
}

function assembled({ scheme, account, host, path, query }: Parts): string {
  return `${scheme}${account === undefined ? '' : `${account}@`}${host}${path}${query === '' ? '' : `?${query}`}`
}

/** An address for each host of a PostgreSQL address: `postgres://h1,h2:5433/db` names two. */
export function addressesOf(address: string): string[] {
  const parts = partsOf(address)
  return parts === undefined ? [address] : parts.host.split(',').map((host) => assembled({ ...parts, host }))
}

function nameOf(parameter: string): string {
  const [name = ''] = parameter.split('=', 1)
  return name
}

function redactParameter(parameter: string): string {
  const name = nameOf(parameter)
  // Decoded the way pg does it; the parameter itself keeps its encoding.
  const [decoded = name] = new URLSearchParams(name).keys()
  return secretParameter.test(decoded) ? `${name}=***` : parameter
}
