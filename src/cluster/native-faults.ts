/**
 * The signals that kill native code when it reads a damaged file: a page beyond the end of the file, or one with wrong
 * pointers.
 */
export const nativeFaults: ReadonlySet<string> = new Set(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGFPE', 'SIGILL'])

/** The exit code of a program whose dynamic loader found no library. */
const loaderFailed = 127

/** How a process ended, as Node.js reports it. */
interface Exit {
  readonly code?: number | null
  readonly signal?: string | null
}

/**
 * What to add to the report of a process that ended before it opened the store: what it may have lacked. Empty for
 * another exit code, which it chose itself.
 *
 * @param mark stands between the report and this
 */
export function shortage({ code, signal }: Exit, mark: string): string {
  const isLack = typeof signal === 'string' || code === loaderFailed
  return isLack ? `${mark} memory, threads or a library may be missing` : ''
}
