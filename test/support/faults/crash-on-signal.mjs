/**
 * Loaded into a process of the product (`NODE_OPTIONS=--import=…`), plants defects that a test triggers: SIGUSR2 throws, SIGPROF rejects a
 * promise without a handler.
 */
process.on('SIGUSR2', () => {
  throw new Error('planted: thrown')
})
process.on('SIGPROF', () => {
  void Promise.reject(new Error('planted: rejected'))
})
