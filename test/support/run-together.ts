/**
 * Runs several test files in turn in one process, so that they share a service of each store (service/over-stores.ts). The runner chooses
 * the files (run.ts).
 */
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { endSharedServices, shareServices } from './service/over-stores.js'
import { filesTogether } from './test-process.js'

shareServices()
for (const file of process.env[filesTogether]?.split(' ') ?? []) await import(pathToFileURL(file).href)
await endSharedServices(t)
