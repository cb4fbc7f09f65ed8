/**
 * Starts a process so that the kernel kills it as soon as its parent is gone, no matter how the parent exited. A killed runner takes its
 * test files with it, the files their services, and so on. This applies only to the started process: a service stops its own children.
 * Every `spawn` in test/ uses this (an architecture check).
 *
 * The kernel's mark (PR_SET_PDEATHSIG) belongs to the thread that spawns, here the main one, and is lost when a process changes its
 * account. Therefore the same program first changes the account and then sets the mark.
 */

interface Tie {
  /** The signal that the kernel sends; KILL by default. */
  readonly signal?: 'KILL' | 'QUIT' | 'TERM'
  /** The account that the process runs under; this process's by default. Only root may choose another. */
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
