/**
 * The command line of the benchmarks, `npm run bench -- [VERB] …`: finds the verb, prints its help or loads and runs
 * its module, and sets the exit status: 0; 1 if an answer was wrong or a target that the verb enforces was missed; 2
 * for a wrong command line.
 */
import { UsageError } from './options.js'
import { overview, usual, verbHelp, verbs } from './verbs.js'

const [first = '', ...rest] = process.argv.slice(2)
const verb = verbs.get(first)
const argv = verb === undefined ? process.argv.slice(2) : rest

if (argv.includes('--help')) console.log(verb === undefined ? overview() : verbHelp(first, verb))
else await run()

async function run(): Promise<void> {
  try {
    const body = await (verb ?? usual).load()
    process.exitCode = (await body.run(argv)) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const help = verb === undefined ? '--help' : `${first} --help`
    console.error(`${error.message}\nSee: npm run bench -- ${help}`)
    process.exitCode = 2
  }
}
