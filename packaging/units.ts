/** The units that every kind of package installs, and their folder, which also contains other files of the packages. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.js'

export const units = join(root, 'systemd')

export const unitNames = readdirSync(units).filter((name) => /\.(service|timer)$/.test(name))
