/**
 * The program of a worker, which the primary forks: hands the primary's messages to worker-life.ts. It does nothing
 * without a message, and ends at once when the primary is gone.
 */
import { createLog, logCrashes } from '../../ops/log.js'
import type { ToChild } from '../messages.js'
import { liveWithPrimary } from '../parent.js'
import { WorkerLife } from './worker-life.js'

const log = createLog('worker')
logCrashes(log)

const life = new WorkerLife(log)

function take(message: ToChild): void {
  switch (message.kind) {
    case 'start':
      return life.start(message)
    case 'open':
      return void life.open()
    case 'serve':
      return void life.serve()
    case 'drain':
      return void life.drain()
    case 'request':
      return void life.respond(message)
    case 'suspendKey':
      return void life.suspendKey(message.revocation, message.name)
    case 'keysChanged':
      return void life.loadKeys(message.id, message.revocation)
    case 'requestStats':
      return void life.sendStats(message.stored)
  }
}

liveWithPrimary(life, take)
