/** Signals that kill native code which reads a damaged file: a page beyond its end, or one with wrong pointers. */
export const nativeFaults: ReadonlySet<string> = new Set(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGFPE', 'SIGILL'])

/** The exit code of a program whose dynamic loader found no library. */
const loaderFailed = 127

export interface Exit {
  readonly code?: number | null
  readonly signal?: string | null
}

/** For a process that ended before it opened the store: its possible cause; empty if it chose its exit code itself. */
export function shortage({ code, signal }: Exit, mark: string): string {
  const isLack = typeof signal === 'string' || code === loaderFailed
  return isLack ? `${mark} memory, threads or a library may be missing` : ''
}
