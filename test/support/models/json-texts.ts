/** Random strings that are JSON, or nearly JSON. */
import type { Random } from '../random.js'

/** The strings that the mutations change. */
const valid: readonly string[] = [
  '{}',
  '{"path":"a/b","value":[1,2.5,-0,1e400,{"x":null}],"type":"json"}',
  '{"a":"\\u00e9\\n\\"\\\\","b":[[],{},[{}]]}',
  ' {\t"a" :\r\n true , "b" : false } ',
  '{"é😀":"日本","":[0.1E-5,10]}',
  '{"properties":{"a":"b","c":"d"},"size":10.0}',
]
/** The strings that a mutation inserts. */
const pieces = [
  ...'"\\{}[],:01-+.eEun \n\t\u0001\ufeffé\u2028\'/\u007f\u00a0',
  ...['null', 'tru', '//', '00', '\\u', '\\u00', '"a":', '[]'],
]

/** A string that is JSON, or nearly JSON. */
export function mutated({ below, pick }: Random): string {
  let mutant = pick(valid)
  for (let count = 1 + below(3); count > 0; count--) {
    const at = below(mutant.length + 1)
    const insert = below(3) === 0 ? '' : pick(pieces)
    mutant = mutant.slice(0, at) + insert + mutant.slice(at + below(3))
  }
  if (below(10) === 0) mutant = mutant.slice(0, below(mutant.length + 1))
  return mutant.toWellFormed()
}
