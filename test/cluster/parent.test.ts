/** The messages of a primary of an earlier version, which does not know all settings. */
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { ToTool } from '../../dist/cluster/messages.js'
import { onParentMessage } from '../../dist/cluster/parent.js'

t.test('a setting that the primary does not send has its default, even if the working directory is gone', (t) => {
  const gone = mkdtempSync(join(tmpdir(), 'topicd-gone-'))
  const before = process.cwd()
  process.chdir(gone)
  rmdirSync(gone)
  t.teardown(() => process.chdir(before))
  const taken: ToTool[] = []
  onParentMessage<ToTool>((message) => taken.push(message))
  const [listener] = process.listeners('message').slice(-1)
  process.removeAllListeners('message')
  listener?.({ kind: 'start', config: { data: '/elsewhere' } }, undefined)
  listener?.({ kind: 'open' }, undefined)
  const config = { data: '/elsewhere', port: 8080, basePath: '', gzip: false, changesListenersMax: 5000 }
  t.match(taken, [{ kind: 'start', config }, { kind: 'open' }])
  t.end()
})
