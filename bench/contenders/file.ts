/** The floor of big durable writes, as a contender: what receiving, copying and flushing the bytes costs (file-server.ts). */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Contender } from './contender.js'
import { startFloor } from './floor.js'

const program = fileURLToPath(new URL('file-server.js', import.meta.url))

export const file: Contender = {
  name: 'file',
  version: undefined,
  durability: 'fsync before the answer, of a file that cannot be read back',
  isFloor: true,
  start: (setting) => startFloor(program, setting, (worker) => [join(setting.directory, `bytes-${worker}`)]),
}
