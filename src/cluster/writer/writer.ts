/**
 * The program of the writer, which the primary forks: hands the primary's messages to writer-life.ts. It does nothing
 * without a message, and ends at once when the primary is gone.
 */
import { createLog, logCrashes } from '../../ops/log.js'
import type { ToChild } from '../messages.js'
import { liveWithPrimary } from '../parent.js'
import { WriterLife } from './writer-life.js'

const log = createLog('writer')
logCrashes(log)

const life = new WriterLife(log)

function take(message: ToChild): void {
  switch (message.kind) {
    case 'start':
      return life.start(message.config)
    case 'open':
      return void life.open()
    case 'pauseWrites':
      return life.pauseWrites()
    case 'resumeWrites':
      return life.resumeWrites()
    case 'drain':
      return void life.drain()
    case 'request':
      return void life.respond(message)
    case 'requestStats':
      return life.sendStats()
  }
}

liveWithPrimary(life, take)
