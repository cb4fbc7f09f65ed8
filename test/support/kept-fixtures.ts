/**
 * Keeps the directories of tests, which tap would empty too early: a service may still use its own, and the tear-down checks
 * the store in it. Importing this file is enough, so a test file also passes when plain `node` runs it.
 */
import t from 'tap'

process.env.TAP_SAVE_FIXTURE = '1'
// The root test read the variable before it was set here.
t.saveFixture = true
