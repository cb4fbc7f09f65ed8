/** The settings of a command that works on a whole store, with a warning about a directory that is not used. */
import { complain } from '../../base/stderr.js'
import { isExclusive } from '../../settings/address.js'
import { type Config, type GivenSettings, readConfig } from '../../settings/config.js'

/**
 * A `--data` that is given although the store is PostgreSQL is reported on standard error: the caller may have meant
 * the store in that directory.
 *
 * @throws UsageError when one is wrong
 */
export function readStoreConfig(given: GivenSettings): Config {
  const config = readConfig(given)
  if (given.data !== undefined && !isExclusive(config.store)) {
    complain('--data is ignored because the store is PostgreSQL; "--store lmdb" selects the store in that directory')
  }
  return config
}
