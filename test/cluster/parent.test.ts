/** The messages of a primary of an earlier version, which does not know all settings. */
import t from 'tap'
import type { ToTool } from '../../dist/cluster/messages.js'
import { onParentMessage } from '../../dist/cluster/parent.js'
import { defaultConfig } from '../../dist/settings/config.js'

t.test('a setting that the primary does not know has its default', (t) => {
  const taken: ToTool[] = []
  onParentMessage<ToTool>((message) => taken.push(message))
  const [listener] = process.listeners('message').slice(-1)
  process.removeAllListeners('message')
  listener?.({ kind: 'start', config: { data: '/elsewhere' } }, undefined)
  listener?.({ kind: 'open' }, undefined)
  t.strictSame(taken, [{ kind: 'start', config: { ...defaultConfig, data: '/elsewhere' } }, { kind: 'open' }])
  t.match(defaultConfig, { port: 8080, basePath: '', gzip: false, changesListenersMax: 5000 })
  t.end()
})
