/**
 * Advice for users about an error from the engine, to be appended to the error's message. Other files decide which errors are
 * refusals, and how callers are affected. The engine's text may be in another language; then an error whose SQLSTATE has several
 * causes gets no advice.
 */
import { stateOf } from './session.js'

/** pg's message if the engine requires a password; the error has no code. */
const noPassword = /^SASL: .*client password must be/

const quotedName = /"([^"]+)"/

/** Causes that share the SQLSTATE 28000. */
const refusals: readonly (readonly [RegExp, (name: string) => string])[] = [
  [/^role ".*" does not exist/, (role) => `"createuser --pwprompt ${role}" creates it`],
  [/pg_hba\.conf/, () => 'add a line for this host, role and database to pg_hba.conf on the server, and reload it'],
  [
    /^Peer authentication/,
    (role) =>
      `through a socket, only the system user ${role} can use this role; use the address 127.0.0.1 and a password`,
  ],
]

/** The error's message and, if known, the advice. */
export function explained(error: Error): string {
  const { message } = error
  if (noPassword.test(message)) {
    return 'it requires a password, and none was given: put it in PGPASSWORD, in ~/.pgpass, or in the address in TOPICD_STORE'
  }
  const advice = adviceFor(error, quotedName.exec(message)?.[1] ?? '')
  return advice === undefined ? message : `${message}: ${advice}`
}

function adviceFor(error: Error, name: string): string | undefined {
  switch (stateOf(error) ?? (error as NodeJS.ErrnoException).code) {
    case '28P01':
      return `its password is wrong, or there is no such role ("createuser --pwprompt ${name}" creates it)`
    case '28000':
      return refusals.find(([pattern]) => pattern.test(error.message))?.[1](name)
    case '3D000':
      return `"createdb --owner=ROLE --encoding=UTF8 --template=template0 ${name}" creates it`
    case '42501':
      return 'the role in --store must own the database, or have CREATE on it, and be the one that "topicd migrate" was run with'
    case 'ECONNREFUSED':
    case 'ENOENT':
      return 'nothing is listening there; is PostgreSQL running ("pg_lsclusters"), and is this its port?'
    default:
      return undefined
  }
}
