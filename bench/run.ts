/**
 * The benchmark: workloads × contenders, interleaved, with checked answers. `npm run bench -- --help` lists the options.
 *
 * The figure is server CPU time per request, and its ratio to a bare uWebSockets.js server that answers a constant of the
 * same size, in the same run on the same cores: it holds on a noisy machine, where requests per second do not.
 */

import { program, readOptions, usage } from './options.js'
import { bench } from './session.js'

await program(async () => {
  const argv = process.argv.slice(2)
  if (argv.includes('--help')) {
    console.log(usage)
    return true
  }
  return bench(readOptions(argv))
})
