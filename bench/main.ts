/**
 * The command line of the benchmarks, `npm run bench -- [COMMAND] …`. Finds the command, then prints its help or loads and runs its module.
 * The exit status is 0; 1 if a response was wrong or a target that the command enforces was missed; 2 if the command line is wrong.
 */

import { commandHelp, commands, overview, usual } from './commands/all.js'
import { UsageError } from './options.js'

const [first = '', ...rest] = process.argv.slice(2)
const command = commands.get(first)
const argv = command === undefined ? process.argv.slice(2) : rest

if (argv.includes('--help')) console.log(command === undefined ? overview() : commandHelp(first, command))
else await run()

async function run(): Promise<void> {
  try {
    const body = await (command ?? usual).load()
    process.exitCode = (await body.run(argv)) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const help = command === undefined ? '--help' : `${first} --help`
    console.error(`${error.message}\nSee: npm run bench -- ${help}`)
    process.exitCode = 2
  }
}
