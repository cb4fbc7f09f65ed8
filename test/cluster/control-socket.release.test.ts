/** The control socket under hostile and broken programs. The response to any bad input names the error, and the service keeps serving. */

import { once } from 'node:events'
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { first } from '../support/elements.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

/** The longest first line that is read, as in src/cluster/control/socket.ts. */
const requestBytesMax = 1024 * 1024

/** Maximum connections whose request has not been read yet, as in src/cluster/control/socket.ts. */
const waitingMax = 64

/** Maximum connections, as in src/cluster/control/socket.ts. */
const connectionsMax = 256

const server = await startServer(t, { workers: 2 })

function open({ dataDir }: Server, options: { readonly allowHalfOpen?: boolean } = {}): Promise<Socket> {
  // A relative path, because a socket's address is limited to 107 bytes.
  const socket = connect({ path: relative(process.cwd(), join(dataDir, 'control.sock')), ...options })
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('connect', () => resolve(socket.off('error', reject)))
  })
}

/** Everything received until the connection is closed. */
async function answerTo(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

async function send(line: string | Uint8Array): Promise<string> {
  const socket = await open(server)
  socket.write(line)
  socket.write('\n')
  return answerTo(socket)
}

/** Checks that the service still answers requests, and commands through the socket. */
async function checkServing(t: Test): Promise<void> {
  t.match(await server.post('fetch', { path: 'nothing' }), { code: 'no_such_topic' })
  t.equal((await server.command('keys', 'list')).code, 0, 'keys are listed through the socket')
}

const record = { name: 'made', tokenHash: '0'.repeat(64), allow: ['fetch'], under: ['a/b'], madeMs: 1 }
const adding = (changed: object): string => JSON.stringify({ command: 'addKey', record: { ...record, ...changed } })

const rotating = (changed: object): string =>
  JSON.stringify({
    command: 'rotateKey',
    rotation: { name: 'made', formerHash: '0'.repeat(64), tokenHash: '1'.repeat(64), ...changed },
  })

const malformed: Readonly<Record<string, string | Uint8Array>> = {
  'an empty line': '',
  'text that is not JSON': 'keys list',
  'bytes that are not UTF-8': Buffer.from([0x22, 0xff, 0xfe, 0x22]),
  null: 'null',
  'an unknown command': '{"command":"stop"}',
  'an unknown member': '{"command":"reload","now":true}',
  'a tool named __proto__': '{"command":"tool","tool":"__proto__"}',
  'a backup to a relative path': '{"command":"tool","tool":"backup","options":{"file":"copy"}}',
  'a first line of 0': '{"command":"tool","tool":"import","options":{"fromLine":0,"withKeys":false}}',
  'a record with a wrong name': adding({ name: 'a*b' }),
  'a record with a token instead of a hash': adding({ tokenHash: 'topicd_secret' }),
  'a record with a subtree that is not a normalised path': adding({ under: ['/a'] }),
  'a record with a secret in a quoted member name': adding({ '.a "b"] topicd_secret': 1, 'topicd_secret\\': 1 }),
  'a rotation with a token instead of a hash': rotating({ formerHash: 'topicd_secret' }),
  'a secret as the only member name': '{"topicd_secret":{}}',
  'deep nesting': `${'['.repeat(100_000)}`,
}

await t.test('a malformed request gets an error, is logged and changes nothing', async (t) => {
  for (const [name, line] of Object.entries(malformed)) {
    const logged = server.log.length
    const answer = await send(line)
    t.match(answer, /^\{"error":"[^\n]+"\}\n$/, name)
    t.notMatch(answer, 'topicd_secret', `${name}: the response contains no secret`)
    const [warning] = await until(`the warning about ${name} is logged`, async () => {
      const warnings = server.log.slice(logged).filter(({ msg }) => msg === 'malformed control request')
      return warnings.length > 0 ? warnings : undefined
    })
    t.match(warning, { level: 40, reason: String }, `${name} is logged`)
    t.notMatch(JSON.stringify(warning), 'topicd_secret', `${name}: the log contains no secret`)
  }
  await checkServing(t)
  t.notMatch((await server.command('keys', 'list')).stdout, 'made', 'no key was created')
})

await t.test('a well-formed request to add a key creates the key and may be repeated', async (t) => {
  for (const _ of ['first', 'again']) t.equal(await send(adding({})), '{"response":true}\n')
  t.equal(await send(adding({ tokenHash: '1'.repeat(64) })), '{"response":false}\n')
  t.equal(await send(adding({ name: 'other' })), '{"response":"token_taken"}\n')
  t.match((await server.command('keys', 'list')).stdout, /^made +fetch +a\/b/m)
})

await t.test('requests are served during a flood of malformed lines', async (t) => {
  const random = seededRandom(t)
  const whole = [adding({}), ...Object.values(malformed).filter((line) => line.length < 500)].map((line) =>
    Buffer.from(line),
  )
  function broken(): Buffer {
    const bytes = random.oneIn(4) ? Buffer.alloc(random.below(200), 1) : Buffer.from(random.pick(whole))
    for (let changes = random.oneIn(4) ? bytes.length : 3; changes > 0 && bytes.length > 0; changes--) {
      bytes[random.below(bytes.length)] = random.below(256)
    }
    // Without line feeds, so that the bytes stay one line.
    return Buffer.from(bytes.filter((byte) => byte !== 0x0a))
  }
  let served = 0
  let flooding = true
  const serving = (async () => {
    for (; flooding; served++) {
      const { status } = await server.post('addAndSet', { path: 'served', value: served })
      if (status !== 200) throw new Error(`got ${status}`)
    }
  })()
  const flooded = Array.from({ length: 16 }, async () => {
    for (let round = 0; round < 50; round++) t.match(await send(broken()), /^\{"(error|response)":/)
  })
  await Promise.all(flooded)
  flooding = false
  await serving
  t.ok(served > 0, `${served} requests were served during the flood`)
  await checkServing(t)
})

await t.test('the first line may be one mebibyte long and not one byte longer', async (t) => {
  const fill = (bytes: number): string => {
    const [before = '', after = ''] = adding({ name: 'long', tokenHash: '2'.repeat(64), under: ['?'] }).split('?')
    const room = bytes - before.length - after.length
    // Many subtrees; the last one fills the rest.
    const under = Array.from({ length: Math.floor(room / 1000) - 1 }, () => 'a'.repeat(997)).join('","')
    return `${before}${under}","${'b'.repeat(room - under.length - 3)}${after}`
  }
  t.equal(fill(requestBytesMax).length, requestBytesMax)
  t.equal(await send(fill(requestBytesMax)), '{"response":true}\n', 'the limit')
  t.equal(await send(fill(requestBytesMax + 1)), '{"error":"the request is longer than 1048576 bytes"}\n', 'too long')
  const endless = await open(server)
  endless.write('x'.repeat(requestBytesMax + 1))
  t.match(await answerTo(endless), 'longer than', 'a line that never ends')
  t.equal(await send('{"command":"revokeKey","name":"long"}'), '{"response":true}\n')
  await checkServing(t)
})

await t.test('a connection that sends no complete line is closed', async (t) => {
  const silent = await open(server)
  const half = await open(server)
  half.write('{"command":')
  const answers = await Promise.all([answerTo(silent), answerTo(half)])
  t.strictSame(answers, Array(2).fill('{"error":"no complete request arrived within 5000 ms"}\n'))
})

await t.test('64 connections may wait to send a request, and the next connection is rejected', async (t) => {
  const held: Socket[] = []
  for (let opened = 0; opened < waitingMax; opened++) held.push(await open(server))
  t.match(
    await answerTo(await open(server)),
    '{"error":"more than 64 connections have not sent their request yet"}\n',
    'limit + 1',
  )
  first(held).write('{"command":"listKeys"}\n')
  t.match(await answerTo(first(held)), '{"response":[', 'the limit')
  for (const socket of held) socket.destroy()
  await until('there is room again', async () => ((await send('{}')).includes('more than') ? undefined : true))
  await checkServing(t)
})

await t.test('connections kept open after the response do not block further commands', async (t) => {
  const kept: Socket[] = []
  t.teardown(() => kept.forEach((socket) => socket.destroy()))
  for (let opened = 0; opened < connectionsMax; opened++) {
    // The client's half stays open after the service has closed its half.
    const socket = await open(server, { allowHalfOpen: true })
    kept.push(socket)
    socket.on('error', () => {}).write('{"command":"listKeys"}\n')
    // The response has arrived and is not read.
    await once(socket, 'readable')
  }
  await until('commands are answered again', async () =>
    (await server.command('keys', 'list')).code === 0 ? true : undefined,
  )
  await checkServing(t)
})

await t.test('a connection that breaks at any point does not disturb the service', async (t) => {
  const tool = '{"command":"tool","tool":"check","options":{}}\n'
  for (const text of ['', ...[10, 50].map((length) => adding({}).slice(0, length)), tool, tool]) {
    const socket = await open(server)
    if (text === '') socket.destroy()
    else socket.write(text, () => socket.destroy())
    if (!socket.closed) await once(socket, 'close')
  }
  await checkServing(t)
})

await t.test('a caller that keeps sending and does not read a long response is cut off', async (t) => {
  const keys = 6500
  const names = Array.from({ length: keys }, (_, number) => `many-${number}`)
  const lines = names.map((name) =>
    JSON.stringify({ key: { ...record, name, under: ['a/b/c', 'd/e/f', 'g'.repeat(100)] } }),
  )
  const socket = await open(server)
  socket.write('{"command":"tool","tool":"import","options":{"fromLine":1,"withKeys":true,"allowUnfinished":true}}\n')
  await once(socket, 'readable')
  t.equal(String(socket.read()), '{"ready":true}\n')
  socket.end(`${lines.join('\n')}\n`)
  t.match(await answerTo(socket), '{"end":true}')
  const { code, stdout, stderr } = await server.command('keys', 'list')
  t.equal(code, 0, stderr)
  t.ok(stdout.length > requestBytesMax, `${stdout.length} characters`)
  t.equal(stdout.match(/^many-/gm)?.length, keys)

  const unread = await open(server)
  unread.write('{"command":"listKeys"}\n')
  await once(unread, 'readable')
  unread.on('error', () => {})
  await until('a caller that keeps sending without reading is cut off', async () => {
    unread.write('x')
    return unread.destroyed || undefined
  })
  await checkServing(t)
})

await t.test('under any umask, only the owner can use the data directory', async (t) => {
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const open = await startServer(t)
  t.equal((statSync(join(open.dataDir, 'control.sock')).mode & 0o777).toString(8), '600')
  t.equal((statSync(open.dataDir).mode & 0o777).toString(8), '700')
})

await t.test('the log warns of a data directory that other accounts can access', async (t) => {
  const dataDir = join(t.testdir(), 'db')
  mkdirSync(dataDir)
  chmodSync(dataDir, 0o755)
  const exposed = await startServer(t, { dataDir })
  t.match(await exposed.logged('other accounts can access the data directory; run chmod 700 on it'), {
    level: 40,
    mode: '755',
  })
  t.equal((statSync(join(dataDir, 'control.sock')).mode & 0o777).toString(8), '600')
})
