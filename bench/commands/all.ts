/**
 * The commands of the command line with their help. A command's module is loaded only when it runs, because loading it looks for the
 * servers to measure.
 */
import { commonOptions } from '../options.js'
import { groups, workloads } from '../workloads/all.js'

/** A command's module. */
interface CommandModule {
  /** @returns whether all responses were correct and every enforced target was met; throws UsageError if `argv` is wrong */
  run(argv: readonly string[]): Promise<boolean>
}

interface Command {
  /** The command's arguments. */
  readonly synopsis: string
  /** The question that the command answers, for the list of commands. */
  readonly summary: string
  /** The help of the command's own arguments and options. */
  readonly details: string
  load(): Promise<CommandModule>
}

const json = '  --json                results as JSON on stdout; everything else goes to stderr'

/** The command that runs by default. */
export const usual: Command = {
  synopsis: '[WORKLOAD…]',
  summary: 'what does each workload cost, compared with other servers?',
  details: `  --servers NAMES    bare,topicd,fastify,redis,etcd, separated by commas (default: all that are installed)
${json}`,
  load: () => import('./run.js'),
}

export const commands: ReadonlyMap<string, Command> = new Map([
  [
    'growth',
    {
      synopsis: '[SERIES…] [--redraw]',
      summary: 'what does a request cost as the work grows? Draws bench/plots/*.svg',
      details: `  SERIES                topics, values, connections, workers, page-size (default: all)
  --redraw              draw the plots of the last run again, from dist-bench/plots/*.json`,
      load: () => import('./growth.js'),
    },
  ],
  [
    'compare',
    {
      synopsis: 'BASE CHANGE [WORKLOAD…]',
      summary: 'is one revision faster than another?',
      details: `  BASE, CHANGE          git revisions, or "." for the working tree as last built
  --peers NAMES         also measure these: fastify,redis,etcd, separated by commas (default: none); their figures
                        are in the lines of each workload
${json}`,
      load: () => import('./compare.js'),
    },
  ],
  [
    'idle',
    {
      synopsis: '[--idle N]',
      summary: 'what do many mostly idle connections cost?',
      details: '  --idle N              number of idle connections (default 10,000)',
      load: () => import('./idle.js'),
    },
  ],
  [
    'changes',
    {
      synopsis: '[--streams N]',
      summary: 'what does an event cost when many streams follow changes, and how late is it?',
      details: '  --streams N           number of streams (default 1,000)',
      load: () => import('./changes.js'),
    },
  ],
  [
    'gzip',
    {
      synopsis: '',
      summary: 'what does compressing a page cost, and on which links is it worthwhile?',
      details: '  Also measures nginx as a proxy, if it is installed.',
      load: () => import('./gzip.js'),
    },
  ],
  [
    'upload',
    {
      synopsis: '[--topics N]',
      summary: 'what does an operation cost in a request with a million of them?',
      details: '  --topics here is the number of lines of an upload (default 1,000,000)',
      load: () => import('./upload.js'),
    },
  ],
  [
    'profile',
    {
      synopsis: 'WORKLOAD [--output DIR]',
      summary: 'where does the CPU time go?',
      details: '  --output DIR          directory of the .cpuprofile files (default: profiles)',
      load: () => import('./profile.js'),
    },
  ],
  [
    'postgres',
    {
      synopsis: '[WORKLOAD…]',
      summary: 'what does the service cost on PostgreSQL, and what does batching gain?',
      details: '  Needs PostgreSQL on this machine. Fails if batching gains too little for overwrite-256.',
      load: () => import('./postgres.js'),
    },
  ],
  [
    'fenced',
    {
      synopsis: '[WORKLOAD…]',
      summary: 'what do fenced reads cost?',
      details: '  Needs PostgreSQL on this machine: it runs a primary and a synchronous standby.',
      load: () => import('./fenced.js'),
    },
  ],
])

/** Help for `npm run bench -- --help`: commands, workloads and options. */
export function overview(): string {
  const list = [...commands].map(([name, { summary }]) => `  ${name.padEnd(22)}${summary}`)
  return `npm run bench -- ${usual.synopsis} [options]
npm run bench -- COMMAND [arguments] [options]

Without a command: ${usual.summary} (default: the group "usual")

commands (npm run bench -- COMMAND --help shows the arguments of each):
${list.join('\n')}

${workloadHelp()}

options:
${usual.details}
${commonOptions}`
}

/** Help for one command. */
export function commandHelp(name: string, command: Command): string {
  const sections = [`npm run bench -- ${name} ${command.synopsis} [options]`, command.summary, command.details]
  if (command.synopsis.includes('WORKLOAD')) sections.push(workloadHelp())
  return [...sections, `options:\n${commonOptions}`].join('\n\n')
}

function workloadHelp(): string {
  const width = Math.max(...workloads.map(({ name }) => name.length)) + 2
  const list = workloads.map(({ name, question }) => `  ${name.padEnd(width)}${question}`)
  return `workloads, also in groups (${Object.keys(groups).join(', ')}):\n${list.join('\n')}`
}
