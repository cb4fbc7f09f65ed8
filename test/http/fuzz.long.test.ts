/**
 * Random and mutated requests, over bare connections and with bodies of every kind: each is answered with a documented
 * status or has its connection closed, no worker dies, and other topics are unchanged. FUZZ_REQUESTS=100000 sends more.
 */
import t, { type Test } from 'tap'
import type { Random } from '../support/random.js'
import { seededRandom } from '../support/random.js'
import { requestText } from '../support/raw.js'
import { type Server, startServer } from '../support/server.js'

const requests = Number(process.env.FUZZ_REQUESTS ?? 4000)

/** The statuses of the service, and 431 and 505, which the HTTP library sends by itself. */
const documented = new Set([200, 400, 401, 403, 404, 405, 411, 413, 415, 417, 431, 505, 507, 503])

t.setTimeout(60_000 + requests * 20)

const routes = ['fetch', 'set', 'add', 'addAndSet', 'remove'] as const
const selectors = [
  '?.*//',
  '*fuzz//',
  '#a////?b/',
  '>a',
  '?(a+)+b',
  '*[',
  '#',
  '$',
  '?a{1000}',
  '?\\Q',
  '',
  '*\\p{L}//',
]
const properties = [
  {},
  { REMOVAL: 'when time after 1' },
  { VALIDATE_VALUES: 'x' },
  { DONT_RETAIN_VALUE: 'true' },
  { '': '' },
  5,
]

function text(random: Random): string {
  const pieces = [
    'a',
    'fuzz',
    '/',
    '//',
    '\u0000',
    'é',
    '\ud800',
    '😀',
    '"',
    '\\',
    '.',
    '*',
    '?',
    ' ',
    'x'.repeat(3000),
  ]
  return Array.from({ length: random.below(6) }, () => random.pick(pieces)).join('')
}

/** A JSON text, valid or nearly so. */
function json(random: Random, depth = 0): string {
  switch (random.below(depth > 4 ? 7 : 10)) {
    case 0:
      return 'null'
    case 1:
      return random.pick(['true', 'false', 'tru', 'NaN', 'undefined'])
    case 2:
      return random.pick(['0', '-0', '1e400', '1.10', '12345678901234567890', '01', '+1', '.5', '1e', '-'])
    case 3:
      return JSON.stringify(text(random))
    case 4:
      return random.pick(['"', '"\\', '"\\u12', '"\u0001"', '"\\ud800"'])
    case 5:
      return '['.repeat(random.below(3000)) + ']'.repeat(random.below(3000))
    case 6:
      return ''
    case 7:
      return `[${Array.from({ length: random.below(4) }, () => json(random, depth + 1)).join(',')}]`
    default:
      return `{${Array.from({ length: random.below(4) }, () => `${JSON.stringify(text(random))}:${json(random, depth + 1)}`).join(',')}}`
  }
}

/** The members of each route's body. */
const membersOf: Readonly<Record<(typeof routes)[number], readonly string[]>> = {
  fetch: ['path', 'selector', 'type', 'size', 'after'],
  set: ['path', 'value', 'type'],
  add: ['path', 'type', 'properties'],
  addAndSet: ['path', 'value', 'type', 'properties'],
  remove: ['path', 'selector'],
}

function member(random: Random, name: string): string {
  if (random.oneIn(15)) return json(random)
  switch (name) {
    case 'path':
      return JSON.stringify(random.oneIn(4) ? text(random) : `fuzz/${random.below(20)}`)
    case 'selector':
      return JSON.stringify(random.oneIn(3) ? text(random) : random.pick(selectors))
    case 'type':
      return random.pick(['"json"', '"json"', '"string"', '"other"'])
    case 'properties':
      return JSON.stringify(random.pick(properties))
    case 'size':
      return random.pick(['0', '1', '1000', '1001', '1.5', '-1', '1e3', '"1"'])
    case 'after':
      return JSON.stringify(text(random))
    default:
      return random.oneIn(2) ? `"${random.below(100)}"` : json(random)
  }
}

/** A body for the route, sometimes with something wrong. */
function body(random: Random, route: (typeof routes)[number]): string {
  if (random.oneIn(15)) return json(random)
  const names = membersOf[route].filter((name) => {
    if (name === 'path') return !random.oneIn(5)
    return name === 'value' ? !random.oneIn(20) : random.oneIn(4)
  })
  if (random.oneIn(20)) names.push(random.pick([...names, 'sizes', text(random)]))
  return `{${names.map((name) => `${JSON.stringify(name)}:${member(random, name)}`).join(',')}}`
}

/** A request with some bytes replaced, dropped, inserted or repeated, or cut short. */
function mutate(random: Random, bytes: Buffer): Buffer {
  let mutated = Buffer.from(bytes)
  for (let times = 1 + random.below(4); times > 0; times--) {
    const at = random.below(mutated.length || 1)
    const rest = mutated.subarray(at)
    switch (random.below(5)) {
      case 0:
        mutated[at] = random.below(256)
        break
      case 1:
        mutated = Buffer.concat([mutated.subarray(0, at), mutated.subarray(at + 1 + random.below(10))])
        break
      case 2:
        mutated = Buffer.concat([
          mutated.subarray(0, at),
          Buffer.from(random.pick(['\r\n', '\n', ': ', '\0', ' ', ',', '0', 'é'])),
          rest,
        ])
        break
      case 3:
        mutated = Buffer.concat([mutated.subarray(0, at), rest.subarray(0, 20), rest])
        break
      case 4:
        mutated = mutated.subarray(0, at)
        break
    }
  }
  return mutated
}

async function fuzz(t: Test, server: Server, random: Random): Promise<void> {
  const statuses = new Map<number, number>()
  const one = async (): Promise<void> => {
    const name = random.pick(routes)
    const route = random.oneIn(20) ? `/${text(random).replaceAll(/[\s\0]/g, '')}` : `/topics/${name}`
    const token = random.oneIn(20) ? 'unknown' : server.token
    const whole = Buffer.from(requestText(route, token, body(random, name)))
    const bytes = random.oneIn(2) ? mutate(random, whole) : whole
    const connection = await server.raw()
    const cut = random.oneIn(4) ? random.below(bytes.length + 1) : bytes.length
    await connection.write(bytes.subarray(0, cut))
    if (cut < bytes.length) {
      await new Promise((resolve) => setImmediate(resolve))
      await connection.write(bytes.subarray(cut))
    }
    // Where something is missing, the server waits for it until our half is closed.
    const answered = connection.answer()
    if (bytes !== whole) connection.end()
    const answer = await answered
    connection.close()
    const status = answer?.status ?? 0
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status !== 0 && !documented.has(status))
      t.fail(`${status} for ${JSON.stringify(bytes.toString('latin1').slice(0, 2000))}`)
    if (bytes === whole && status === 0)
      t.fail(`no answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 2000))}`)
  }
  for (let sent = 0; sent < requests; sent += 20) await Promise.all(Array.from({ length: 20 }, one))
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b))))
  t.ok((statuses.get(200) ?? 0) > requests / 50, 'some were valid')
  t.ok((statuses.get(400) ?? 0) > requests / 20, 'and many were refused')
}

t.test('random requests end no worker, and change only topics that their key allows', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2 })
  // The topics that must not change have a key of their own, and the fuzzed requests' key cannot reach them.
  const keeper = await server.addKey('keeper', { under: ['kept'] })
  const post = (route: string, members: object) => server.client.post(route, members, { token: keeper })
  for (let i = 0; i < 10; i++) await post('addAndSet', { path: `kept/${i}`, value: i })
  const pids = server.workerPids()
  const fuzzed = await server.addKey('fuzzer', { under: ['fuzz', 'a'] })
  const all = server.token
  server.token = fuzzed
  await fuzz(t, server, random)
  server.token = all
  t.strictSame(server.workerPids(), pids, 'no worker died')
  for (let i = 0; i < 10; i++) {
    t.equal(
      (await post('fetch', { path: `kept/${i}` })).text,
      `{"path":"kept/${i}","type":"json","value":${i}}`,
      'other topics are unchanged',
    )
  }
})
