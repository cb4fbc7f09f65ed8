/** Signals that kill native code when it reads a damaged file: a page beyond the end, or a page with wrong pointers. */
export const nativeFaults: ReadonlySet<string> = new Set(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGFPE', 'SIGILL'])

/** The exit code of a program whose dynamic loader did not find a library. */
const loaderFailed = 127

export interface Exit {
  readonly code?: number | null
  readonly signal?: string | null
}

/** The possible cause if a process exited before it opened the store; empty if it chose its exit code itself. */
export function shortage({ code, signal }: Exit, mark: string): string {
  const isLack = typeof signal === 'string' || code === loaderFailed
  return isLack ? `${mark} the system may be out of memory or threads, or a library may be missing` : ''
}
