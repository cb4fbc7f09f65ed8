/** Runs the floor, which does nothing but the HTTP exchange (programs/bare-server.ts). */
import { fileURLToPath } from 'node:url'
import { packageVersion } from '../measure/machine.js'
import { startFloor } from './floor.js'
import type { Server } from './server.js'

const program = fileURLToPath(new URL('programs/bare-server.js', import.meta.url))

export const bare: Server = {
  name: 'bare',
  version: `uWebSockets.js ${packageVersion('@uwsjs/linux-x64-20') ?? packageVersion('uWebSockets.js')}`,
  durability: 'stores nothing',
  answersConstants: true,
  start: (setting) => startFloor(program, setting),
}
