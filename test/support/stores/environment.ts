/** Direct access to a store's own records; no other process may have the store open. */
import { type Environment, openEnvironment } from '../../../dist/store/lmdb/environment/environment.js'
import { addLoggedKeys } from '../../../dist/store/logged-keys.js'
import { pathOfKeyText } from '../../../dist/topics/key.js'

/** Opens the environment while `work` runs. */
export async function inside<T>(directory: string, work: (environment: Environment) => T): Promise<Awaited<T>> {
  const environment = openEnvironment(directory)
  try {
    return await work(environment)
  } finally {
    await environment.root.close()
  }
}

/** The topics in a record of the log. */
export function pathsIn(keys: Buffer): string[] {
  const texts: string[] = []
  addLoggedKeys(texts, keys, 0)
  return texts.map(pathOfKeyText)
}
