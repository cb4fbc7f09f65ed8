/**
 * The recipes of docs/recipes.md in their actual programs, which Debian does not package: Node-RED (from npm) and Telegraf. NODE_RED and
 * TELEGRAF name them; otherwise they are looked up in the PATH. Run it alone:
 *
 *     NODE_RED=/opt/node-red/node_modules/.bin/node-red node dist-test/support/run.js docs/recipes-programs
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { missing } from '../support/installed.js'
import { freePorts } from '../support/machines/ports.js'
import { numbered, Publisher, Restartable, stored, storesNumbers } from '../support/publishers.js'
import { nodeRedFlow, recipeBlocks } from '../support/recipes.js'
import { startServer, until } from '../support/service/server.js'

t.setTimeout(600_000)

const { NODE_RED: nodeRed = 'node-red', TELEGRAF: telegraf = 'telegraf' } = process.env

/** A running Node-RED with the flow, into which the test injects values. */
class NodeRed {
  private constructor(
    private readonly process: Publisher,
    private readonly injectUrl: string,
  ) {}

  static async start(t: Test, url: string, token: string): Promise<NodeRed> {
    const [port] = await freePorts(1)
    const flow = nodeRedFlow(url)
    writeFileSync(join(t.testdirName, 'flows.json'), flow.text)
    // Node-RED's settings are a CommonJS module, unlike this package.
    writeFileSync(join(t.testdirName, 'package.json'), '{}')
    const flags = ['-u', t.testdirName, '-p', String(port), '-D', 'uiHost=127.0.0.1', 'flows.json']
    const process = Publisher.start(t, [nodeRed, ...flags], { TOPICD_AUTHORIZATION: `Apikey ${token}` })
    const red = new NodeRed(process, `http://127.0.0.1:${port}/inject/${flow.inject}`)
    await red.logs(/Started flows/)
    return red
  }

  async publish(values: readonly { readonly path: string; readonly value: unknown }[]): Promise<void> {
    for (const { path, value } of values) {
      const props = [
        { p: 'topic', v: path, vt: 'str' },
        { p: 'payload', v: JSON.stringify(value), vt: 'json' },
      ]
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ __user_inject_props__: props })
      const response = await fetch(this.injectUrl, { method: 'POST', headers, body })
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    }
  }

  /** Waits until the log matches the pattern. */
  async logs(pattern: RegExp): Promise<void> {
    await until(`the log shows ${pattern}`, async () => {
      if (this.process.hasEnded) throw new Error(this.process.output + this.process.errors)
      return pattern.test(this.process.output) ? true : undefined
    })
  }
}

const whyNoNodeRed = missing(nodeRed, '--help')

t.test('Node-RED loses no value across broken connections and a restart', { skip: whyNoNodeRed }, async (t) => {
  const service = await Restartable.start(t, { workers: 2 })
  const red = await NodeRed.start(t, service.front.url, service.server.token)
  await red.publish(numbered(0, 50))
  service.front.cut()
  await red.publish([...numbered(50, 100), { path: 'a//b', value: 1 }])
  await stored(service.server, 'numbers/99')
  await red.logs(/\[error\] \[function:queue\] not stored: .*"a\/\/b".*invalid_path/)
  await service.stop()
  await red.publish(numbered(100, 150))
  await red.logs(/queue\] again in \d+ s: ECONN[\s\S]*queue\] again in/)
  await service.startAgain()
  await stored(service.server, 'numbers/149')
  await until('the last value is stored', async () =>
    (await service.server.post('fetch', { path: 'last' })).text.includes(':149}') ? true : undefined,
  )
  await storesNumbers(t, service.server, 150)
})

const whyNoTelegraf = missing(telegraf, '--version')

t.test('Telegraf stores exact metrics and reports an unknown key', { skip: whyNoTelegraf }, async (t) => {
  const server = await startServer(t)
  const [output = ''] = recipeBlocks('telegraf', 'toml', server.url)
  const input = `[agent]\n  omit_hostname = true\n[[inputs.file]]\n  files = ["metrics"]\n  data_format = "influx"\n`
  writeFileSync(join(t.testdirName, 'telegraf.conf'), `${input}${output}\n`)
  const metrics = [
    'disk,host=web1,path=/var free=18446744073709551615u,label="a <b> é" 1700000000123000000',
    'cpu,cpu=cpu0,host=web1 usage_idle=2.25 1700000000123000000',
  ]
  writeFileSync(join(t.testdirName, 'metrics'), `${metrics.join('\n')}\n`)
  const run = async (key: string): Promise<string> => {
    const publisher = Publisher.start(t, [telegraf, '--once', '--config', 'telegraf.conf'], { TOPICD_KEY: key })
    await publisher.ended()
    return publisher.errors + publisher.output
  }
  t.match(await run('topicd_unknown'), /received status code: 401\. body: \{"code":"unauthorized"/)
  await run(server.token)
  const { text } = await server.post('fetch', { selector: '*telegraf//' })
  const item = (path: string, fields: object) => ({ path, type: 'json', value: { time: 1700000000123, fields } })
  t.strictSame((JSON.parse(text) as { results: unknown[] }).results, [
    item('telegraf/cpu/cpu=cpu0/host=web1', { usage_idle: 2.25 }),
    // biome-ignore lint/correctness/noPrecisionLoss: as JSON.parse reads it.
    item('telegraf/disk/host=web1/path=%2Fvar', { free: 18446744073709551615, label: 'a <b> é' }),
  ])
})
