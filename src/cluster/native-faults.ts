/**
 * The signals by which native code ends on files that are not what it takes them for: a page beyond the file's end, or one
 * whose bytes lead it astray.
 */
export const nativeFaults: ReadonlySet<string> = new Set(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGFPE', 'SIGILL'])
