/** Which writes are admitted by how much of the disk is free; durability/full-disk.long fills one. */
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DiskRoom, smallWrite } from '../../dist/store/lmdb/disk-room.js'

const directory = t.testdir()
const pageBytes = 4096
const growing = { ...smallWrite, grows: true }
const none = { freeBytesMin: 0, writers: 1 }

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** Levels of such trees that one operation may take this share of what is free. */
function levelsTaking(share: number): number {
  return Math.floor((share * freeBytes()) / pageBytes)
}

function openRoom(t: Test, ...args: ConstructorParameters<typeof DiskRoom>): DiskRoom {
  const room = new DiskRoom(...args)
  t.teardown(() => room.close())
  return room
}

t.test('what is in flight counts until it is released', (t) => {
  const room = openRoom(t, directory, none, () => levelsTaking(0.6))
  const first = room.reserve(smallWrite)
  t.type(first, 'number')
  t.equal(room.reserve(smallWrite), 'later')
  t.equal(room.reserve({ ...smallWrite, operations: 2 }), 'full', 'not even alone')
  room.release(Number(first))
  t.type(room.reserve(smallWrite), 'number')
  t.end()
})

t.test('each process counts its own writes for all', (t) => {
  const room = openRoom(t, directory, { ...none, writers: 2 }, () => levelsTaking(0.6))
  t.equal(room.reserve(smallWrite), 'full')
  t.end()
})

t.test('the bytes of items count, in whole pages', (t) => {
  const room = openRoom(t, directory, none, () => 1)
  t.equal(room.reserve({ ...growing, bytes: Math.ceil(0.6 * freeBytes()) }), 'full')
  t.type(room.reserve({ ...growing, bytes: Math.floor(0.4 * freeBytes()) }), 'number')
  t.end()
})

t.test('with less free than the least, only writes that grow are refused', (t) => {
  const room = openRoom(t, directory, { ...none, freeBytesMin: 2 * freeBytes() }, () => 1)
  t.ok(room.isNearlyFull())
  t.equal(room.reserve(growing), 'full')
  t.type(room.reserve(smallWrite), 'number')
  t.end()
})

t.test('writes that grow leave half of the least', (t) => {
  const room = openRoom(t, directory, { ...none, freeBytesMin: 0.8 * freeBytes() }, () => levelsTaking(0.7))
  t.notOk(room.isNearlyFull())
  t.equal(room.reserve(growing), 'full')
  t.type(room.reserve(smallWrite), 'number')
  t.end()
})

t.test('a disk that cannot be measured has no room', (t) => {
  const room = openRoom(t, join(directory, 'missing'), none, () => 1)
  t.equal(room.freeBytes(), 0)
  t.equal(room.reserve(smallWrite), 'full')
  t.end()
})
