/**
 * The program of a worker, which the primary forks: hands the primary's messages to worker-life.ts. It does nothing
 * without a message, and ends at once when the primary is gone.
 */
import { createLog, logCrashes } from '../ops/log.js'
import { ignoreUnheardCommitFailures } from '../store/lmdb/commits.js'
import { version } from '../version.js'
import type { ToChild } from './messages.js'
import { sendToParent } from './parent.js'
import { WorkerLife } from './worker-life.js'

const heartbeatMs = 1000

const log = createLog('worker')
logCrashes(log)
ignoreUnheardCommitFailures()

const life = new WorkerLife(log)

function take(message: ToChild): void {
  switch (message.kind) {
    case 'start':
      return life.start(message)
    case 'open':
      return void life.open()
    case 'serve':
      return void life.serve()
    case 'hold':
      return void life.pauseWrites()
    case 'release':
      return life.resumeWrites()
    case 'housekeep':
      return life.sweep(message.enabled)
    case 'drain':
      return void life.drain()
    case 'ask':
      return void life.answer(message.id, message.question, message.untilMs)
    case 'keysChanged':
      return void life.loadKeys(message.id)
    case 'measure':
      return void life.sendStats(message.stored)
    default:
      return message satisfies never
  }
}

process.on('message', take)
setInterval(() => life.sendHeartbeat(), heartbeatMs)

// Signals are for the primary: a terminal sends them to the whole process group, and the primary sends its workers
// messages.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

// Without its primary a worker must not write: the next service may open the store at any moment. Only a kill is sure.
process.on('exit', () => {
  if (!life.isEnding) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

sendToParent({ kind: 'loaded', version })
