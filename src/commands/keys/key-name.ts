/** The operand NAME of the commands for API keys. */
import { isKeyName, keyNameForm } from '../../keys/record.js'
import { UsageError } from '../../settings/config.js'
import { quoted } from '../../settings/quoted.js'

/** @throws UsageError if it is not a valid name */
export function checkedName(name: string): string {
  if (isKeyName(name)) return name
  throw new UsageError(`NAME is ${quoted(name)}; it must be ${keyNameForm}`)
}
