/** Admission of writes by the free space of the disk; durability/full-disk fills one. */
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DiskRoom } from '../../dist/store/lmdb/commit/disk-room.js'
import type { TreePages } from '../../dist/store/lmdb/environment/environment.js'
import { skippableTime } from '../support/skipped-time.js'

const directory = t.testdir()
const pageBytes = 4096
const smallWrite = { operations: 1, bytes: 0, grows: false }
const growing = { ...smallWrite, grows: true }

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** Trees with so many levels that one operation may take this share of the free space. */
function treesTaking(share: number): TreePages {
  return { levels: Math.floor((share * freeBytes()) / pageBytes), pages: Number.MAX_SAFE_INTEGER }
}

const smallTrees: TreePages = { levels: 4, pages: 4 }

/** A room in which a commit has started. */
function openRoom(...args: ConstructorParameters<typeof DiskRoom>): DiskRoom {
  const room = new DiskRoom(...args)
  room.begin()
  return room
}

t.test('all writes of a commit count as used room until the next commit starts', (t) => {
  const room = openRoom(directory, 0, () => treesTaking(0.6))
  t.equal(room.admit(smallWrite), 'admitted')
  t.equal(room.admit(smallWrite), 'later')
  t.equal(room.admit({ ...smallWrite, operations: 2 }), 'full', 'not even alone')
  room.begin()
  t.equal(room.admit(smallWrite), 'admitted')
  t.end()
})

t.test('the bytes of items are counted in whole pages', (t) => {
  const room = openRoom(directory, 0, () => smallTrees)
  t.equal(room.admit({ ...growing, bytes: Math.ceil(0.6 * freeBytes()) }), 'full')
  t.equal(room.admit({ ...growing, bytes: Math.floor(0.4 * freeBytes()) }), 'admitted')
  t.end()
})

t.test('only growing writes are rejected below the minimum of free bytes', (t) => {
  const room = openRoom(directory, 2 * freeBytes(), () => smallTrees)
  t.ok(room.isNearlyFull())
  t.equal(room.admit(growing), 'full')
  t.equal(room.admit(smallWrite), 'admitted')
  t.end()
})

t.test('growing writes leave half of the minimum number of bytes free', (t) => {
  const room = openRoom(directory, 0.8 * freeBytes(), () => treesTaking(0.7))
  t.notOk(room.isNearlyFull())
  t.equal(room.admit(growing), 'full')
  t.equal(room.admit(smallWrite), 'admitted')
  t.end()
})

t.test('a commit reserves room for at most one copy of each existing page, plus new pages', (t) => {
  const pages = 50
  const levels = Math.ceil((1.1 * freeBytes()) / pageBytes / 3)
  const room = openRoom(directory, 0, () => ({ levels, pages }))
  t.equal(room.admit({ ...smallWrite, operations: 3 }), 'admitted')
  t.equal(openRoom(directory, 0, () => ({ levels, pages: Infinity })).admit({ ...smallWrite, operations: 3 }), 'full')
  t.end()
})

t.test("the sizes of the store's trees are read again after a while", async (t) => {
  const time = skippableTime(t)
  let reads = 0
  const room = openRoom(directory, 0, () => {
    reads++
    return smallTrees
  })
  room.begin()
  t.equal(reads, 1)
  time.pass(150)
  room.begin()
  t.equal(reads, 2)
})

t.test('a disk that cannot be measured counts as full', (t) => {
  const room = openRoom(join(directory, 'missing'), 0, () => smallTrees)
  t.equal(room.freeBytes(), 0)
  t.equal(room.admit(smallWrite), 'full')
  t.end()
})
