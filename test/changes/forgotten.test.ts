/** A log that keeps few changes: a client that was away for longer is told so, and one that was not goes on. */
import { mkdirSync } from 'node:fs'
import t from 'tap'
import { refuses } from '../support/expected-answers.js'
import { ChangesStream, changesPage } from '../support/service/changes.js'
import { scrape } from '../support/service/metrics.js'
import { runCommand, startServer } from '../support/service/server.js'

const kept = 10

t.test('a token from before what the log keeps has gone', async (t) => {
  const server = await startServer(t, { flags: ['--changes-kept', String(kept)] })
  const { client, post, url, token } = server
  const first = await changesPage(client, { selector: '*.*' })
  for (let i = 0; i < kept; i++) await post('addAndSet', { path: `a/${i}`, value: i })
  t.equal((await changesPage(client, { selector: '*.*', since: first.next })).results.length, kept, 'as many are kept')
  for (let i = 0; i < 2; i++) await post('addAndSet', { path: 'b', value: i })
  refuses(t, await post('changes', { selector: '*.*', since: first.next }), 410, 'since_gone', 'since')
  t.equal((await post('changes', { selector: '*.*', since: first.next })).status, 410, 'too old a token is refused')
  const stream = await ChangesStream.open({ url, token, lastEventId: first.next }, { selector: '*.*' })
  t.equal(await stream.ended(), 'since_gone')
  const metrics = await scrape(server.adminUrl)
  t.equal(metrics.value('topicd_changes_gone_total'), 3)
  t.equal(metrics.value('topicd_changes_kept_min'), kept)
  t.ok(metrics.value('topicd_changes_kept') >= kept)
})

t.test('what is restored from a backup has none of the tokens of before', async (t) => {
  const server = await startServer(t)
  const { next } = await changesPage(server.client, { selector: '*.*' })
  const backup = `${server.dataDir}.backup`
  t.equal((await server.command('backup', backup)).code, 0)
  await server.stop()
  const dataDir = `${server.dataDir}.restored`
  mkdirSync(dataDir)
  const restored = await runCommand(['restore', backup, '--data', dataDir])
  t.equal(restored.code, 0, restored.stderr)
  const again = await startServer(t, { dataDir, token: server.token })
  refuses(t, await again.post('changes', { selector: '*.*', since: next }), 410, 'since_gone', 'since')
})
