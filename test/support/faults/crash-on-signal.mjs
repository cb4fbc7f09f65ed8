/**
 * Plants defects, which a test triggers, in a process of the product that loads this file (`NODE_OPTIONS=--import=…`): SIGUSR2 throws,
 * SIGPROF rejects a promise without a handler.
 */
process.on('SIGUSR2', () => {
  throw new Error('planted: thrown')
})
process.on('SIGPROF', () => {
  void Promise.reject(new Error('planted: rejected'))
})
