/**
 * The recipes of docs/recipes.md, verbatim: the values they publish are stored exactly and in order, despite broken connections and
 * restarts of the service, and rejected values are reported.
 *
 * The shell loop and Python run as a user runs them. For Telegraf, the template runs in Go's text/template with stub metrics, and the test
 * sends the body as configured. For Node-RED, the function runs in node:vm, and the test sends its requests as the flow's node would. The
 * real programs are in recipes-programs.extra.ts.
 */
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from '../support/documents.js'
import { missing } from '../support/installed.js'
import { numbered, Publisher, Restartable, stored, storesNumbers } from '../support/publishers.js'
import { nodeRedFlow, recipeBlocks, telegrafOutput } from '../support/recipes.js'
import { FunctionNode, type Message } from '../support/service/function-node.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

/** Idle time in s after which the shell loop opens another connection. */
const shellIdleSMax = 6

/** Sends a request as a recipe's configuration defines it, and returns the response. */
async function request(url: string, method: string, headers: Readonly<Record<string, string>>, body: string) {
  const response = await fetch(url, { method, headers, body })
  return { status: response.status, text: await response.text(), headers: Object.fromEntries(response.headers) }
}

function startShell(t: Test, url: string, token: string): Publisher {
  const [script = ''] = recipeBlocks('a-shell-loop', 'bash', url)
  writeFileSync(join(t.testdirName, 'publish.sh'), script)
  return Publisher.start(t, ['bash', 'publish.sh'], { KEY: token })
}

const lines = (from: number, to: number): readonly string[] => numbered(from, to).map((value) => JSON.stringify(value))

t.test('the shell loop stores values reliably', { skip: missing('bash', '--version') }, async (t) => {
  await t.test('the loop uses one connection while values arrive, and reports rejected values', async (t) => {
    const { front, server } = await Restartable.start(t)
    const startMs = Date.now()
    const publisher = startShell(t, front.url, server.token)
    for (let i = 0; i < 20; i++) {
      publisher.write(lines(i, i + 1))
      await stored(server, `numbers/${i}`)
    }
    const exact = '{"path":"exact/é \\"","value":{"b":1.10,"a":[1e400,12345678901234567890]}}'
    publisher.write(['{"path":"a//b","value":1}', exact, ...lines(20, 300)])
    t.equal(await publisher.ended(), 0)
    const connectionsMax = 1 + Math.floor((Date.now() - startMs) / 1000 / shellIdleSMax)
    t.ok(front.connections <= connectionsMax, `${front.connections} connections, at most ${connectionsMax}`)
    await storesNumbers(t, server, 300)
    t.match((await server.post('fetch', { path: 'exact/é "' })).text, '{"b":1.10,"a":[1e400,12345678901234567890]}')
    t.match(publisher.errors, /^400 \{"code":"invalid_path".*: not stored: \{"path":"a\/\/b","value":1\}\n$/)
  })

  await t.test('the loop loses no value when connections break and the service restarts', async (t) => {
    const service = await Restartable.start(t, { workers: 2 })
    const publisher = startShell(t, service.front.url, service.server.token)
    publisher.write(lines(0, 100))
    await stored(service.server, 'numbers/20')
    service.front.cut()
    await publisher.reports(/^0 no connection: again in 1 s$/m)
    await stored(service.server, 'numbers/90')
    await service.stop()
    publisher.write(lines(100, 200))
    await publisher.reports(/(?:^0 no connection: again in 1 s\n[\s\S]*){2}/m)
    await service.startAgain()
    t.equal(await publisher.ended(), 0)
    await storesNumbers(t, service.server, 200)
  })

  await t.test('the loop waits if its key has exceeded its rate, and exits if the key is unknown', async (t) => {
    const server = await startServer(t)
    const slow = startShell(t, server.url, await server.addKey('slow', { rate: 4 }))
    slow.write(lines(0, 6))
    t.equal(await slow.ended(), 0)
    t.match(slow.errors, /^429 .*too_many_requests.*: again in \d+ s$/m)
    await storesNumbers(t, server, 6)
    const unknown = startShell(t, server.url, 'topicd_unknown')
    unknown.write(lines(0, 6))
    t.equal(await unknown.ended(), 1)
    t.match(unknown.errors, /^401 \{"code":"unauthorized".*\n$/)
    const [example = ''] = recipeBlocks('a-shell-loop', 'console')
    assert.match(example, /KEY=topicd_… /)
    Publisher.start(t, ['bash', '-c', example.replace('topicd_…', server.token)], {})
    await stored(server, 'plant/7/load')
    t.match(
      (await server.post('fetch', { path: 'plant/7/load' })).text,
      /"value":\d+\.\d\d\}/,
      "the value of the recipe's example",
    )
  })
})

/** Publishes the lines of its input, each a path and a value as JSON, with publisher.py, and prints the path of each afterwards. */
const pythonDriver = `
import json, os, sys
from publisher import Publisher
publisher = Publisher(os.environ["URL"], os.environ["KEY"], waiting_max=100)
for line in sys.stdin:
    item = json.loads(line)
    publisher.publish(item["path"], item["value"])
    print(item["path"], flush=True)
publisher.close()
`

/** Starts the driver, with the recipe next to it. */
function startPython(t: Test, url: string, token: string): Publisher {
  const [recipe = ''] = recipeBlocks('python', 'python')
  writeFileSync(join(t.testdirName, 'publisher.py'), recipe)
  return Publisher.start(t, ['python3', '-c', pythonDriver], { URL: url, KEY: token })
}

t.test('the Python program stores values reliably', { skip: missing('python3', '--version') }, async (t) => {
  await t.test('in an outage, no value is lost, and the program holds at most one queue and one batch', async (t) => {
    const service = await Restartable.start(t, { workers: 2 })
    const publisher = startPython(t, service.front.url, service.server.token)
    publisher.write(lines(0, 1000))
    await stored(service.server, 'numbers/10')
    service.front.cut()
    await stored(service.server, 'numbers/999')
    await service.stop()
    publisher.write(lines(1000, 2000))
    await publisher.reports(/(?:^again in .* s: 0 [\s\S]*){3}/m)
    const taken = publisher.output.split('\n').length - 1
    t.ok(taken <= 2000 + 200, `${taken} accepted: at most 100 wait and 100 are being sent`)
    await service.startAgain()
    t.equal(await publisher.ended(), 0)
    await storesNumbers(t, service.server, 2000)
  })

  await t.test('the program drops and reports a rejected value, and raises an error for an unknown key', async (t) => {
    const server = await startServer(t)
    const publisher = startPython(t, server.url, await server.addKey('plant', { under: ['numbers', 'last', 'a'] }))
    publisher.write([...lines(0, 20), '{"path":"a//b","value":1}', '{"path":"other","value":2}', ...lines(20, 40)])
    t.equal(await publisher.ended(), 0)
    await storesNumbers(t, server, 40)
    t.match(publisher.errors, /^not stored: \{.*"path": "a\/\/b", "value": 1\}: 400 \{"code":"invalid_path"/m)
    t.match(publisher.errors, /^not stored: \{.*"path": "other", "value": 2\}: 403 \{"code":"forbidden_path"/m)

    const unknown = startPython(t, server.url, 'topicd_unknown')
    unknown.write(lines(0, 1000))
    t.equal(await unknown.ended(), 1)
    t.match(unknown.errors, /RuntimeError: 401 \{"code":"unauthorized"/)
    const [, text = ''] = recipeBlocks('python', 'python', server.url)
    const example = Publisher.start(t, ['python3', '-c', text], { KEY: server.token })
    t.equal(await example.ended(), 0, example.errors)
    t.match((await server.post('fetch', { path: 'plant/7/temp' })).text, '"value":22}')
  })
})

t.test('the template for Telegraf produces a valid batch', { skip: missing('go', 'version') }, async (t) => {
  const server = await startServer(t)
  const { url, template, headers } = telegrafOutput(server.token, server.url)
  const go = spawnSync('go', ['run', join(root, 'test/support/clients/telegraf-template.go')], {
    input: template,
    encoding: 'utf8',
  })
  assert.equal(go.status, 0, go.stderr)
  const { status, text } = await request(url, 'POST', headers, go.stdout)
  t.equal(status, 200, text)
  const page = await server.post('fetch', { selector: '*telegraf//' })
  const { results } = JSON.parse(page.text) as { results: { path: string; value: { fields: { label?: string } } }[] }
  t.strictSame(
    results.map(({ path }) => path),
    ['telegraf/a%2Fb', 'telegraf/cpu/cpu=cpu0/host=web1', 'telegraf/disk/host=web1/path=%2Fvar'],
  )
  t.match(page.text, '"value":{"time":1700000000123,"fields":{}}', 'without the values that JSON cannot represent')
  t.match(page.text, '"value":{"time":1700000000123,"fields":{"usage_idle":2.25}}', 'the last of two metrics')
  t.match(page.text, /"free":18446744073709551615,.*"used":-9007199254740993\}/)
  t.notMatch(page.text, '"share"')
  t.equal(results[2]?.value.fields.label, 'a "<b>" \\ é\n')
  t.equal((await request(url, 'POST', { ...headers, authorization: 'Apikey no' }, go.stdout)).status, 401)
})

const whyNoSyslog = missing('sh', '-c', 'syslog-ng --version && ls /usr/lib/syslog-ng/*/libhttp.so')

t.test('syslog-ng keeps lines while the service is down, and counts dropped ones', { skip: whyNoSyslog }, async (t) => {
  const service = await Restartable.start(t)
  const { post, token } = service.server
  const [recipe = ''] = recipeBlocks('syslog-ng', 'text', service.front.url)
  const config = `@version: 3.35\nsource s_src { stdin(); };\n${recipe.replace('time-reopen(5)', 'time-reopen(1)')}`
  writeFileSync(join(t.testdirName, 'syslog-ng.conf'), config)
  const files = ['-f', 'syslog-ng.conf', '-R', 'persist', '-c', 'control', '-p', 'pid']
  const command = ['syslog-ng', '-F', '-e', '--no-caps', ...files] as const
  const publisher = Publisher.start(t, command, { TOPICD_KEY: token })
  const line = (program: string, text: string): string => `<13>Nov 28 19:20:01 host ${program}[1]: ${text}`
  const shown = (text: string): Promise<string> =>
    until(`${text} is stored`, async () => {
      const page = await service.server.post('fetch', { selector: '?syslog/' })
      const { results } = JSON.parse(page.text) as { results: { path: string; value: { message: string } }[] }
      return results.find(({ value }) => value.message === text)?.path
    })
  const counted = (name: string): string | undefined => {
    const { stdout } = spawnSync('syslog-ng-ctl', ['stats', '-c', 'control'], {
      cwd: t.testdirName,
      encoding: 'utf8',
    })
    return new RegExp(`^dst\\.http;.*;${name};(\\d+)$`, 'm').exec(stdout)?.[1]
  }

  publisher.write([line('/usr/sbin/cron', 'a "quoted" \\ é line')])
  t.match(await shown('a "quoted" \\ é line'), /^syslog\/[^/]+\/_usr_sbin_cron$/, 'any characters')
  publisher.write(['<13>Nov 28 19:20:01 host : of no program'])
  const path = await shown('of no program')
  t.match(path, /\/unknown$/)

  await post('addAndSet', { path: path.replace(/[^/]+$/, 'refused'), type: 'string', value: 'of another type' })
  publisher.write([line('refused', 'x'), line('kept', 'alongside a rejected line')])
  await publisher.reports(/handled by response_action; action='drop'.*status_code='400'/)
  await shown('alongside a rejected line')
  publisher.write([line('kept', 'later')])
  await shown('later')
  await until(
    'the lines are counted',
    async () => (counted('dropped') === '2' && counted('written') === '3') || undefined,
  )
  t.pass('a batch with a rejected line was dropped, and three lines were written')

  await service.stop()
  publisher.write([line('kept', 'while the service was down')])
  await publisher.reports(/error sending HTTP request|disconnected while preparing messages/i)
  await service.startAgain()
  await shown('while the service was down')
})

/** The flow, whose requests the test sends in place of Node-RED. */
class SentFlow {
  readonly #flow
  readonly node: FunctionNode

  constructor(
    private readonly url: string,
    public token: string,
  ) {
    this.#flow = nodeRedFlow(url)
    this.node = new FunctionNode(this.#flow.queue)
  }

  publish(values: readonly { readonly path: string; readonly value: unknown }[]): void {
    for (const { path, value } of values) this.node.input({ topic: path, payload: value })
  }

  /** Sends the request in flight and passes the response to the function; returns the body and the status. */
  async exchange(): Promise<{ readonly body: string; readonly status: number }> {
    const { request: node } = this.#flow
    const [message, ...others] = this.node.sent.splice(0)
    assert(message !== undefined && others.length === 0, 'one request is in flight')
    const textOf = (text: string): string => text.replace(/^\$\{TOPICD_AUTHORIZATION\}$/, `Apikey ${this.token}`)
    const headers = Object.fromEntries(node.headers.map((header) => [header.keyValue, textOf(header.valueValue)]))
    const body = String(message.payload)
    const { status, text, headers: received } = await request(node.url, node.method, headers, body)
    this.node.input({ ...message, payload: text, statusCode: status, headers: received })
    return { body, status }
  }

  /** Passes the request node's message for a broken connection to the function. */
  breakOff(): Message {
    const [message] = this.node.sent.splice(0)
    assert(message !== undefined)
    this.node.input({ ...message, payload: `RequestError: read ECONNRESET : ${this.url}`, statusCode: 'ECONNRESET' })
    return message
  }
}

const operationsIn = ({ body }: { readonly body: string }): number =>
  (JSON.parse(body) as { operations: object[] }).operations.length

t.test("Node-RED's flow stores values reliably", async (t) => {
  const server = await startServer(t)
  const start = (): SentFlow => new SentFlow(server.url, server.token)

  t.test('the flow sends the first value immediately, and the values that follow it in batches', async (t) => {
    const { queue, request } = nodeRedFlow()
    t.strictSame([queue.wires, request.wires], [[[request.id]], [[queue.id]]], "the flow's two nodes feed each other")
    const flow = start()
    flow.publish(numbered(0, 300))
    const { body } = await flow.exchange()
    t.equal(body, '{"operations":[{"op":"addAndSet","path":"numbers/0","value":0}]}')
    t.strictSame([operationsIn(await flow.exchange()), operationsIn(await flow.exchange())], [500, 99])
    t.equal(flow.node.sent.length, 0)
    await storesNumbers(t, server, 300)
  })

  t.test('the flow repeats a batch until it is stored, waiting longer each time', async (t) => {
    const flow = start()
    flow.publish([{ path: 'repeated', value: 1 }])
    const { payload } = flow.breakOff()
    t.match(flow.node.status, 'ECONNRESET')
    t.equal(flow.breakOff().payload, payload, 'the batch is repeated')
    flow.token = 'topicd_unknown'
    t.equal((await flow.exchange()).status, 401)
    t.match(flow.node.warnings.at(-1), /^again in 4 s: 401 \{"code":"unauthorized"/)
    flow.token = server.token
    t.strictSame(await flow.exchange(), { body: payload, status: 200 })
    t.strictSame(flow.node.waits, [1000, 2000, 4000])
    t.equal(flow.node.status, undefined)
    await stored(server, 'repeated')
  })

  t.test('the flow reports a rejected value and drops it', async (t) => {
    const flow = start()
    const values = [1, 2, 3].map((value) => ({ path: `refused/${value}`, value }))
    flow.publish([{ path: 'first', value: 0 }, ...values.slice(0, 1), { path: 'a//b', value: 0 }, ...values.slice(1)])
    await flow.exchange()
    t.equal((await flow.exchange()).status, 400)
    t.equal((await flow.exchange()).status, 200)
    for (const { path } of values) await stored(server, path)
    t.match(flow.node.errors, [/^not stored: \{.*"a\/\/b".*: \{"code":"invalid_path"/])
    flow.publish([{ path: 'large', value: 'x'.repeat(500_000) }])
    t.strictSame([flow.node.errors[1], flow.node.sent.length], ['the value is too large', 0])
    flow.publish([0, 1, 2, 3].map((i) => ({ path: `large/${i}`, value: 'é'.repeat(200_000) })))
    for (let i = 0; i < 2; i++) t.equal((await flow.exchange()).status, 200, 'a batch stays within the limit of a body')
  })

  t.test('the flow keeps its queue across a deployment, and ignores the response to an earlier request', async (t) => {
    const flow = start()
    flow.publish(numbered(0, 2))
    const [lost] = flow.node.sent.splice(0)
    flow.node.deploy()
    flow.publish(numbered(2, 3))
    flow.node.input({ ...lost, statusCode: 200, payload: '{}' })
    t.equal(operationsIn(await flow.exchange()), 5)
    flow.publish(numbered(3, 4))
    await flow.exchange()
    t.equal((await flow.exchange()).status, 200)
    await storesNumbers(t, server, 4)
  })

  t.test('the flow drops the oldest value when 10,000 values are queued', async (t) => {
    const flow = start()
    flow.publish(Array.from({ length: 10_003 }, (_, i) => ({ path: 'many', value: i })))
    t.equal(flow.node.warnings.length, 2)
    t.match((await flow.exchange()).body, '"value":0}')
    t.match((await flow.exchange()).body, /^\{"operations":\[\{"op":"addAndSet","path":"many","value":3\}/)
  })
})
