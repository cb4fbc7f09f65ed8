/**
 * Fixtures that stay: what a test has started may still use its directory after tap would have emptied it, and the tear-down
 * looks at the store that is left. Importing this is enough, so that a file run by plain `node` passes, too.
 */
import t from 'tap'

process.env.TAP_SAVE_FIXTURE = '1'
// The root test has read the variable before.
t.saveFixture = true
