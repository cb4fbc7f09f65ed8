/** Versions increase strictly with any clock, and contain the millisecond of their change. */
import t from 'tap'
import { nextVersion, versionMembers } from '../../dist/topics/version.js'

const nowMs = Date.parse('2026-11-24T16:04:05.123Z')

await t.test('the first change in a millisecond gets the first version of that millisecond', async (t) => {
  t.equal(nextVersion(0, nowMs), nowMs * 1024)
  t.equal(nextVersion(nowMs * 1024 - 1, nowMs), nowMs * 1024)
})

await t.test('further changes in the same millisecond get consecutive versions', async (t) => {
  let version = nextVersion(0, nowMs)
  for (let count = 1; count < 1500; count++) {
    const next = nextVersion(version, nowMs)
    if (next !== version + 1) t.equal(next, version + 1)
    version = next
  }
  t.equal(Math.floor(version / 1024), nowMs + 1)
  t.equal(nextVersion(version, nowMs + 1), version + 1, 'changes of the next millisecond continue them')
  t.equal(nextVersion(version, nowMs + 2), (nowMs + 2) * 1024)
})

await t.test('a clock that steps back does not lead to an earlier version', async (t) => {
  const last = nextVersion(0, nowMs)
  t.equal(nextVersion(last, nowMs - 3_600_000), last + 1)
  t.equal(nextVersion(last, 0), last + 1)
})

await t.test('once the time exceeds exact numbers, each version is the previous one plus one', async (t) => {
  const lastMs = Math.floor(Number.MAX_SAFE_INTEGER / 1024)
  t.equal(new Date(lastMs).toISOString().slice(0, 7), '2248-09')
  t.equal(nextVersion(1, lastMs), lastMs * 1024)
  t.equal(nextVersion(1, lastMs + 1), 2)
  t.equal(nextVersion(1, Date.parse('2300-01-01')), 2)
})

await t.test("an item contains the version and the time of the version's millisecond", async (t) => {
  const first = nowMs * 1024
  const updated = '"updated":"2026-11-24T16:04:05.123Z"'
  for (const version of [first, first + 1023]) t.equal(versionMembers(version), `,"version":${version},${updated}`)
  t.match(versionMembers(first + 1024), /:05\.124Z"$/)
  t.match(versionMembers(first - 1), /:05\.122Z"$/)
  const last = Number.MAX_SAFE_INTEGER
  t.match(versionMembers(last), new RegExp(`^,"version":${last},"updated":"2248-.*Z"$`), 'the last version')
})
