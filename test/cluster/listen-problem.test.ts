/** The message for an address that cannot be listened on gives the reason, and the remedy if one is known. */
import t from 'tap'
import { listenProblem } from '../../dist/cluster/listening.js'

const failed = (code: string | undefined): NodeJS.ErrnoException =>
  Object.assign(new Error('the system refuses'), { code })

for (const [code, port, message] of [
  ['EACCES', 80, 'cannot listen on 0.0.0.0:80: a port below 1024 needs the capability CAP_NET_BIND_SERVICE (EACCES)'],
  [
    'EACCES',
    1023,
    'cannot listen on 0.0.0.0:1023: a port below 1024 needs the capability CAP_NET_BIND_SERVICE (EACCES)',
  ],
  ['EACCES', 1024, 'cannot listen on 0.0.0.0:1024: EACCES'],
  ['EADDRINUSE', 8080, 'cannot listen on 0.0.0.0:8080: another process is listening there (EADDRINUSE)'],
  ['EADDRNOTAVAIL', 8080, 'cannot listen on 0.0.0.0:8080: this machine does not have that address (EADDRNOTAVAIL)'],
  ['ENOTFOUND', 8080, 'cannot listen on 0.0.0.0:8080: the host name cannot be resolved (ENOTFOUND)'],
  [undefined, 8080, 'cannot listen on 0.0.0.0:8080: the system refuses'],
] as const) {
  t.test(`${code ?? 'an error without a code'} on port ${port} is reported as: ${message}`, (t) => {
    t.equal(listenProblem(failed(code), '0.0.0.0', port), message)
    t.end()
  })
}

t.test('the message names the listener if it is not the one for the routes', (t) => {
  t.equal(
    listenProblem(failed('EADDRINUSE'), '::1', 8081, ' (the admin listener)'),
    'cannot listen on [::1]:8081 (the admin listener): another process is listening there (EADDRINUSE)',
  )
  t.end()
})
