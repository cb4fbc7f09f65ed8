/**
 * Loaded into a process of the product (`NODE_OPTIONS=--import=…`): a defect that shows when the test asks for it. SIGUSR2
 * throws, SIGPROF rejects a promise that nobody holds.
 */
process.on('SIGUSR2', () => {
  throw new Error('planted: thrown')
})
process.on('SIGPROF', () => {
  void Promise.reject(new Error('planted: rejected'))
})
