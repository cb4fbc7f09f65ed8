/** The first key is created and printed even if a worker dies before it responds, and only by the service that created it. */

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import t from 'tap'
import { persistently } from '../../dist/cluster/control/persistently.js'
import { addFirstKey, makeFirstKey } from '../../dist/cluster/primary/first-key.js'
import type { KeyRecord } from '../../dist/keys/record.js'
import type { KeyRequest, SendKeyRequest } from '../../dist/keys/requests.js'
import { additionTo } from '../../dist/keys/rotation.js'

const keyOf = (name: string, tokenHash: string): KeyRecord => ({ name, tokenHash, allow: [], under: [], madeMs: 0 })

/**
 * A simulated worker with these keys, to which requests are repeated. `dies` returns whether the request with this number is executed
 * without a response.
 */
function fakeWorker(keys: KeyRecord[], dies: (asked: number) => boolean = () => false) {
  let asked = 0
  async function respond(request: KeyRequest): Promise<unknown> {
    let response: unknown = [...keys]
    if (request.command === 'addKey') {
      const addition = additionTo(keys, request.record)
      if (addition === 'added' && !keys.some(({ name }) => name === request.record.name)) keys.push(request.record)
      response = addition === 'token_taken' ? addition : addition === 'added'
    }
    if (request.command === 'revokeKey')
      keys.splice(0, keys.length, ...keys.filter(({ name }) => name !== request.name))
    if (dies(++asked)) throw new Error('process 4711 was killed by SIGKILL')
    return response
  }
  const send = (request: KeyRequest): Promise<unknown> => persistently(() => respond(request), 60_000)
  return { send: send as SendKeyRequest, asked: () => asked }
}

async function printed(
  send: SendKeyRequest,
  canShow = true,
  given: Partial<Parameters<typeof makeFirstKey>[1]> = {},
): Promise<string> {
  let output = ''
  await makeFirstKey(
    send,
    { url: 'http://x', place: 'nowhere', data: resolve('./data'), hasConsole: true, ...given },
    (text) => {
      if (canShow) output += text
      return canShow
    },
  )
  return output
}

t.test('a key is created and printed if there is no key', async (t) => {
  const keys: KeyRecord[] = []
  t.match(await printed(fakeWorker(keys).send), /topicd_[\w-]{43}/)
  t.strictSame(
    keys.map(({ name }) => name),
    ['first'],
  )
})

t.test('a key that cannot be shown is revoked', async (t) => {
  const keys: KeyRecord[] = []
  await printed(fakeWorker(keys).send, false)
  t.strictSame(keys, [])
})

t.test('no key is created if a key already exists', async (t) => {
  const keys = [keyOf('mine', '')]
  t.notMatch(await printed(fakeWorker(keys).send), /topicd_/)
  t.equal(keys.length, 1)
})

for (const lost of [1, 2]) {
  t.test(`one key is created even if a worker dies during request ${lost}`, async (t) => {
    const keys: KeyRecord[] = []
    const { send, asked } = fakeWorker(keys, (asked) => asked === lost)
    t.match(await printed(send), /topicd_[\w-]{43}/, 'the token is printed')
    t.strictSame(
      keys.map(({ name }) => name),
      ['first'],
      'there is one key',
    )
    t.ok(asked() > 2)
  })
}

t.test('a given token becomes the token of the first key unless there are other keys', async (t) => {
  const made: KeyRecord[] = []
  t.equal(await addFirstKey(fakeWorker(made, (asked) => asked === 2).send, 'given'), 'made', 'a response is lost')
  t.match(made, [{ name: 'first', tokenHash: 'given' }])
  for (const [key, outcome] of [
    [keyOf('mine', 'given'), 'known'],
    [keyOf('first', 'other'), 'unused'],
  ] as const) {
    t.equal(await addFirstKey(fakeWorker([key]).send, 'given'), outcome, 'an existing key')
    const keys: KeyRecord[] = []
    const { send } = fakeWorker(keys)
    const slower: SendKeyRequest = (request) => {
      if (request.command === 'addKey') keys.push(key)
      return send(request)
    }
    t.equal(await addFirstKey(slower, 'given'), outcome, 'a key of another host that was faster')
    t.strictSame(keys, [key])
  }
})

t.test('no token is printed if another host creates the first key', async (t) => {
  const keys: KeyRecord[] = []
  const { send } = fakeWorker(keys)
  const slower: SendKeyRequest = (request) => {
    if (request.command === 'addKey') keys.push(keyOf('first', 'of the other host'))
    return send(request)
  }
  t.notMatch(await printed(slower), /topicd_/, 'the token would not work')
})

t.test('the banner shows the address of the console and the command that creates another key', async (t) => {
  const { send } = fakeWorker([keyOf('mine', '')])
  const command = /Another key: +(node \S*dist\/main\.js keys add NAME.*)/
  const banner = await printed(send)
  t.match(banner, 'Console:      http://x/console\n')
  const [, plain = ''] = command.exec(banner) ?? []
  t.match(plain, /NAME$/, 'the default data directory needs no flag')
  const [, elsewhere = ''] = command.exec(await printed(send, true, { data: "it's here", hasConsole: false })) ?? []
  t.match(elsewhere, " --data 'it'\\''s here'", 'another data directory is quoted for the shell')
  t.notMatch(await printed(send, true, { hasConsole: false }), 'console')
  const listed = spawnSync('sh', ['-c', `${plain.replace('add NAME', 'list')} --data ${t.testdirName}/none`])
  t.notMatch(listed.stderr.toString(), 'MODULE_NOT_FOUND', 'the command has the path of the program')
})
