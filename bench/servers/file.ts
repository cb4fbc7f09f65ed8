/**
 * What receiving and flushing the bytes of big durable writes costs by itself, among the servers (programs/file-server.ts). With
 * several workers there are as many files, each flushed on its own, while every store has one.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startFloor } from './floor.js'
import type { Server } from './server.js'

const program = fileURLToPath(new URL('programs/file-server.js', import.meta.url))

export const file: Server = {
  name: 'file',
  version: undefined,
  durability: 'fdatasync before the answer, of a file that cannot be read back',
  answersConstants: true,
  start: (setting) => startFloor(program, setting, (worker) => [join(setting.directory, `bytes-${worker}`)]),
}
