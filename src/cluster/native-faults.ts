/**
 * The signals that kill native code when it reads a damaged file: a page beyond the end of the file, or one with wrong
 * pointers.
 */
export const nativeFaults: ReadonlySet<string> = new Set(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGFPE', 'SIGILL'])

/** Why a process may have ended before it opened the store, as a clause. */
export const shortages = 'memory, threads or a library may be missing'
