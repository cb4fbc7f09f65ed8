/** The names of API keys, as operands of commands. */
import { isKeyName, keyNameForm } from '../../keys/record.js'
import { UsageError } from '../../settings/config.js'
import { quoted } from '../../settings/quoted.js'

/** @throws UsageError when it is not a name */
export function checkedName(name: string): string {
  if (isKeyName(name)) return name
  throw new UsageError(`NAME is ${quoted(name)}; it must be ${keyNameForm}`)
}
