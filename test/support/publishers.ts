/** Programs that publish numbered values, and how a test tells that the service has all of them, in their order. */
import { strict as assert } from 'node:assert'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Test } from 'tap'
import { Relay } from './service/relay.js'
import { type Server, type StartOptions, startServer, until } from './service/server.js'
import { tied } from './tied.js'

/** What a publisher publishes: each number at a path of its own and at one that all share. */
export function numbered(from: number, to: number): readonly { readonly path: string; readonly value: number }[] {
  return Array.from({ length: to - from }, (_, i) => [
    { path: `numbers/${from + i}`, value: from + i },
    { path: 'last', value: from + i },
  ]).flat()
}

/** Whether the numbers below `count` are all stored, exactly and in their order, and the last of them at `last`. */
export async function storesNumbers(t: Test, { post }: Server, count: number): Promise<void> {
  const items: { path: string; value: number; version: number }[] = []
  for (let i = 0; i < count; i += 1000) {
    const paths = Array.from({ length: Math.min(1000, count - i) }, (_, j) => `numbers/${i + j}`)
    const { status, text } = await post('fetch', { paths, with_version: true })
    assert.equal(status, 200, text)
    items.push(...(JSON.parse(text) as { results: typeof items }).results)
  }
  t.strictSame(
    items.filter(({ path, value }) => path !== `numbers/${value}`),
    [],
    'each value is stored at its path',
  )
  t.equal(items.length, count)
  // A version is larger than those of all earlier commits.
  const disordered = items.filter(({ version }, i) => i > 0 && version < (items[i - 1]?.version ?? 0))
  t.strictSame(disordered, [], 'they were stored in their order')
  t.match((await post('fetch', { path: 'last' })).text, `"value":${count - 1}}`, 'the last value won')
}

/** Waits until a topic exists. */
export async function stored({ post }: Server, path: string): Promise<void> {
  await until(`${path} is stored`, async () => ((await post('fetch', { path })).status === 200 ? true : undefined))
}

/** A service that a publisher reaches through a front, and that can be stopped and started again behind it. */
export class Restartable {
  private constructor(
    private readonly t: Test,
    readonly front: Relay,
    public server: Server,
  ) {}

  static async start(t: Test, options: StartOptions = {}): Promise<Restartable> {
    const server = await startServer(t, { ...options, check: false })
    return new Restartable(t, await Relay.open(t, server.port), server)
  }

  async stop(): Promise<void> {
    await this.server.stop()
  }

  async startAgain(): Promise<void> {
    const { dataDir, token } = this.server
    this.server = await startServer(this.t, { dataDir, token })
    this.front.target = this.server.port
  }
}

/** A running publisher. */
export class Publisher {
  /** What it has printed on its standard error. */
  errors = ''
  output = ''
  readonly #closed: Promise<unknown>

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    child.stdin.on('error', () => {})
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    this.#closed = once(child, 'close')
  }

  /** Until the test's end, with the programs that it starts. */
  static start(
    t: Test,
    [program, ...args]: readonly [string, ...string[]],
    env: Readonly<Record<string, string>>,
    cwd = t.testdirName,
  ): Publisher {
    mkdirSync(cwd, { recursive: true })
    const options = { cwd, env: { ...process.env, ...env }, stdio: 'pipe', detached: true } as const
    const publisher = new Publisher(spawn(...tied(program, args), options))
    t.teardown(() => publisher.end())
    return publisher
  }

  /** Gives it lines to publish. */
  write(lines: readonly string[]): void {
    this.child.stdin.write(lines.map((line) => `${line}\n`).join(''))
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** Waits until it has ended by itself, after its last line; returns its exit code. */
  async ended(): Promise<number | null> {
    this.child.stdin.end()
    await until(`the publisher ends; it printed ${this.errors}`, async () => (this.hasEnded ? true : undefined))
    await this.#closed
    return this.child.exitCode
  }

  /** Waits until this is among what it has printed on its standard error. */
  async reports(pattern: RegExp): Promise<void> {
    await until(`it reports ${pattern}`, async () => (pattern.test(this.errors) ? true : undefined))
  }

  async end(): Promise<void> {
    if (this.child.pid !== undefined && !this.hasEnded) process.kill(-this.child.pid, 'SIGKILL')
    await this.#closed
  }
}
