/** Which writes are admitted by how much of the disk is free; durability/full-disk.long fills one. */
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DiskRoom, smallWrite, type TreePages } from '../../dist/store/lmdb/disk-room.js'

const directory = t.testdir()
const pageBytes = 4096
const growing = { ...smallWrite, grows: true }
const none = { freeBytesMin: 0 }

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** Large trees, with so many levels that one operation may take this share of what is free. */
function treesTaking(share: number): TreePages {
  return { levels: Math.floor((share * freeBytes()) / pageBytes), pages: Number.MAX_SAFE_INTEGER }
}

const smallTrees: TreePages = { levels: 4, pages: 4 }

function openRoom(t: Test, ...args: ConstructorParameters<typeof DiskRoom>): DiskRoom {
  const room = new DiskRoom(...args)
  t.teardown(() => room.close())
  return room
}

t.test('what is in flight counts until it is released', (t) => {
  const room = openRoom(t, directory, none, () => treesTaking(0.6))
  const first = room.reserve(smallWrite)
  t.type(first, 'number')
  t.equal(room.reserve(smallWrite), 'later')
  t.equal(room.reserve({ ...smallWrite, operations: 2 }), 'full', 'not even alone')
  room.release(Number(first))
  t.type(room.reserve(smallWrite), 'number')
  t.end()
})

t.test('the bytes of items count, in whole pages', (t) => {
  const room = openRoom(t, directory, none, () => smallTrees)
  t.equal(room.reserve({ ...growing, bytes: Math.ceil(0.6 * freeBytes()) }), 'full')
  t.type(room.reserve({ ...growing, bytes: Math.floor(0.4 * freeBytes()) }), 'number')
  t.end()
})

t.test('with less free than the least, only writes that grow are refused', (t) => {
  const room = openRoom(t, directory, { freeBytesMin: 2 * freeBytes() }, () => smallTrees)
  t.ok(room.isNearlyFull())
  t.equal(room.reserve(growing), 'full')
  t.type(room.reserve(smallWrite), 'number')
  t.end()
})

t.test('writes that grow leave half of the least', (t) => {
  const room = openRoom(t, directory, { freeBytesMin: 0.8 * freeBytes() }, () => treesTaking(0.7))
  t.notOk(room.isNearlyFull())
  t.equal(room.reserve(growing), 'full')
  t.type(room.reserve(smallWrite), 'number')
  t.end()
})

t.test('no more pages are copied than there are, besides new ones', (t) => {
  const room = openRoom(t, directory, none, () => ({ levels: 10, pages: 50 }))
  t.equal(room.reserve({ ...smallWrite, operations: 3 }), 30 * pageBytes)
  t.equal(room.reserve({ ...smallWrite, operations: 100 }), 150 * pageBytes)
  t.end()
})

t.test('a disk that cannot be measured has no room', (t) => {
  const room = openRoom(t, join(directory, 'missing'), none, () => smallTrees)
  t.equal(room.freeBytes(), 0)
  t.equal(room.reserve(smallWrite), 'full')
  t.end()
})
