/**
 * Where a command finds the store: the settings that every command shares with `serve`.
 */
import { resolve } from 'node:path'
import { type CommandLine, environmentName, serveSettings } from '../config.js'
import type { Where } from './session.js'

export const whereSettings = { data: serveSettings.data, store: serveSettings.store } as const

export function whereOf(values: CommandLine['values']): Where {
  const text = (name: 'data' | 'store'): string =>
    values[name] ?? process.env[environmentName(name)] ?? serveSettings[name].default
  return { data: resolve(text('data')), store: text('store') }
}
