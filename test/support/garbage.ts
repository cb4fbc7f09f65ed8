/** Garbage collection on demand, for tests of what the product keeps in memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

export const collectGarbage = runInNewContext('gc') as () => void
