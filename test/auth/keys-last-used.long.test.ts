/** `keys list` shows when a key was last used, to the minute. A worker stores the last uses when it exits. */
import t from 'tap'
import { startServer } from '../support/service/server.js'

t.test('keys list shows when a key was last used, or that it was never used', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const token = await server.addKey('used', { allow: ['fetch'], under: ['a'] })
  await server.command('keys', 'add', 'unused')
  await server.post('fetch', { path: 'a' }, { token })
  server.signal('SIGHUP')
  await server.logged('rolling restart done')
  const { stdout } = await server.command('keys', 'list')
  const [head, ...rows] = stdout.trim().split('\n')
  t.match(head, /^NAME +PERMISSIONS +UNDER +CREATED +LAST USED$/)
  const row = (name: string): string => rows.find((line) => line.startsWith(`${name} `)) ?? ''
  const minute = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\dZ'
  t.match(row('used'), new RegExp(`^used +fetch +a +${minute} +${minute}$`))
  t.match(
    row('unused'),
    new RegExp(`^unused +fetch,set,add,remove +\\(all\\) +${minute} +never, or within the last minute$`),
  )
  const [, , , , used = ''] = row('used').split(/ +/)
  t.ok(Math.abs(Date.parse(used) - Date.now()) <= 2 * 60_000, `${used} is within two minutes of now`)
})
