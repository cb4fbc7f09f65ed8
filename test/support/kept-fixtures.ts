/**
 * Keeps the directories of tests, which tap would empty too early: a service may still use its directory, and the teardown checks the store
 * in it. Importing this file is enough, so a test file also passes when run directly with `node`.
 */
import t from 'tap'

process.env.TAP_SAVE_FIXTURE = '1'
// The root test has already read the variable before it is set here.
t.saveFixture = true
