/** The floor, as a contender: what the HTTP exchange costs by itself (bare-server.ts). */
import { fileURLToPath } from 'node:url'
import { packageVersion } from '../measure/machine.js'
import type { Contender } from './contender.js'
import { startFloor } from './floor.js'

const program = fileURLToPath(new URL('bare-server.js', import.meta.url))

export const bare: Contender = {
  name: 'bare',
  version: `uWebSockets.js ${packageVersion('@uwsjs/linux-x64-20') ?? packageVersion('uWebSockets.js')}`,
  durability: 'stores nothing',
  answersConstants: true,
  start: (setting) => startFloor(program, setting),
}
