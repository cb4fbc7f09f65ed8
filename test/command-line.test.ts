/** The command line: what it lists, and how it refuses. Everything wrong ends with 2 and a line that names it. */
import t from 'tap'
import { environmentName, serveSettings } from '../dist/config.js'
import { runCommand } from './support/server.js'

t.test('--help lists every setting with its environment name, default and bounds', async (t) => {
  const { code, stdout } = await runCommand(['--help'])
  t.equal(code, 0)
  const entries = stdout.slice(stdout.indexOf('Settings of serve')).split('\n  --')
  for (const [flag, setting] of Object.entries(serveSettings)) {
    const entry = entries.find((text) => text.startsWith(`${flag} `)) ?? ''
    t.ok(entry.includes(environmentName(flag)), `${flag}: its environment name`)
    t.ok(entry.includes(`(default ${setting.default === '' ? 'none' : setting.default}`), `${flag}: its default`)
    if (setting.kind === 'number') t.ok(entry.includes(`${setting.min} to ${setting.max}`), `${flag}: its bounds`)
  }
})

const wrong: Readonly<Record<string, readonly [args: readonly string[], env: Readonly<Record<string, string>>, ...mentions: string[]]>> = {
  'an unknown command': [['sreve'], {}, 'sreve'],
  'an unknown flag': [['serve', '--prot', '1'], {}, '--prot'],
  'a repeated flag': [['serve', '--port', '1', '--port', '2'], {}, '--port', 'once'],
  'an argument too many': [['serve', 'now'], {}, 'now'],
  'a flag without its value': [['serve', '--port'], {}, '--port'],
  'a port beyond its bound': [['serve', '--port', '65536'], {}, '--port', '65536', '0 to 65535'],
  'a port that is no number': [['serve', '--port', 'http'], {}, '--port', 'http', '0 to 65535'],
  'no workers': [['serve', '--workers', '0'], {}, '--workers', '1 to 64'],
  'a bound below its own': [['serve', '--body-bytes-max', '1023'], {}, '--body-bytes-max', '1023', '1024'],
  'a base path without a slash': [['serve', '--base-path', 'x'], {}, '--base-path', 'x'],
  'an unknown engine': [['serve', '--store', 'sqlite'], {}, '--store', 'sqlite', 'lmdb'],
  'half of TLS': [['serve', '--tls-cert', 'a.pem'], {}, '--tls-key'],
  'a wrong variable': [['serve'], { TOPICD_PAGE_SIZE_MAX: 'many' }, 'TOPICD_PAGE_SIZE_MAX', 'many', '1 to 100000'],
  'a switch that is neither': [['serve'], { TOPICD_ACCESS_LOG: 'yes' }, 'TOPICD_ACCESS_LOG', 'yes', 'true or false'],
  'a settings file that is not there': [['serve', '--settings', '/nonexistent/topicd.env'], {}, '/nonexistent/topicd.env'],
  'a key without a name': [['keys', 'add'], {}, 'NAME'],
  'a key with an odd name': [['keys', 'add', 'a b'], {}, 'NAME', 'a b'],
  'an operation that does not exist': [['keys', 'add', 'a', '--allow', 'fetch,delete'], {}, '--allow', 'fetch,delete', 'remove'],
  'a subtree that is no path': [['keys', 'add', 'a', '--under', 'a//b'], {}, '--under', 'a//b'],
  'an unknown action on keys': [['keys', 'mend'], {}, 'mend'],
}

for (const [claim, [args, env, ...mentions]] of Object.entries(wrong)) {
  t.test(`${claim} ends with 2 and a line that says so`, async (t) => {
    const { code, stdout, stderr } = await runCommand(args, env)
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, /^topicd: .+\n$/, 'one line')
    for (const mention of mentions) t.ok(stderr.includes(mention), `"${stderr.trim()}" mentions ${mention}`)
  })
}
