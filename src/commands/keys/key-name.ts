/** The names of API keys, as operands of commands. */
import { UsageError } from '../../settings/config.js'
import { quoted } from '../../settings/quoted.js'

/** A name that is easy to type, to log and to align in a table. */
const nameForm = /^[\w.@-]{1,64}$/

/** The name. @throws UsageError when it is not one */
export function checkedName(name: string): string {
  if (nameForm.test(name)) return name
  throw new UsageError(`NAME is ${quoted(name)}; it must be 1 to 64 letters, digits or any of . _ @ -`)
}
