/**
 * How tests start a process: so that the kernel ends it as soon as the process that started it is gone, however that
 * ended. A killed runner takes its test files with it, those their services, and so on. It holds for the started
 * process alone: a service ends its own children. Every `spawn` in test/ uses this (an architecture check).
 *
 * The mark of the kernel (PR_SET_PDEATHSIG) belongs to the thread that spawns, here the main one, and is lost when a
 * process changes its account. So a change of account is done by the same program, before it.
 */

interface Tie {
  /** The signal that ends it; KILL by default. */
  readonly signal?: 'KILL' | 'QUIT' | 'TERM'
  /** The account that it runs under; by default that of this process. Only root may choose. */
  readonly account?: string | undefined
}

/** The program and arguments for `spawn`; the process that runs `program` has the process id that `spawn` returns. */
export function tied(
  program: string,
  args: readonly string[],
  { signal = 'KILL', account }: Tie = {},
): [command: string, args: string[]] {
  const change = account === undefined ? [] : ['--reuid', account, '--regid', account, '--init-groups']
  return ['setpriv', [...change, '--pdeathsig', signal, '--', program, ...args]]
}
