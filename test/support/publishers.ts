/** Programs that publish numbered values, and the check that the service has all of them, in order. */
import { strict as assert } from 'node:assert'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Test } from 'tap'
import { Relay } from './service/relay.js'
import { type Server, type StartOptions, startServer, until } from './service/server.js'
import { tied } from './tied.js'

/** The values of a publisher: each number at its own path and at a shared path. */
export function numbered(from: number, to: number): readonly { readonly path: string; readonly value: number }[] {
  return Array.from({ length: to - from }, (_, i) => [
    { path: `numbers/${from + i}`, value: from + i },
    { path: 'last', value: from + i },
  ]).flat()
}

/** Checks that all numbers below `count` are stored, exactly and in order, and that `last` has the last one. */
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
  t.strictSame(disordered, [], 'the values were stored in order')
  t.match((await post('fetch', { path: 'last' })).text, `"value":${count - 1}}`, 'the last value won')
}

/** Waits until a topic exists. */
export async function stored({ post }: Server, path: string): Promise<void> {
  await until(`${path} is stored`, async () => ((await post('fetch', { path })).status === 200 ? true : undefined))
}

/** A service that a publisher reaches through a relay, and that can be stopped and restarted behind it. */
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
  /** The output on standard error. */
  errors = ''
  output = ''
  readonly #closed: Promise<unknown>

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    child.stdin.on('error', () => {})
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    this.#closed = once(child, 'close')
  }

  /** Runs until the test ends; the programs that it starts are stopped as well. */
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

  /** Passes lines to publish to the program. */
  write(lines: readonly string[]): void {
    this.child.stdin.write(lines.map((line) => `${line}\n`).join(''))
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** Waits until the program has exited on its own, after its last line; returns its exit code. */
  async ended(): Promise<number | null> {
    this.child.stdin.end()
    await until(`the publisher exits; its standard error: ${this.errors}`, async () =>
      this.hasEnded ? true : undefined,
    )
    await this.#closed
    return this.child.exitCode
  }

  /** Waits until standard error matches the pattern. */
  async reports(pattern: RegExp): Promise<void> {
    await until(`the publisher reports ${pattern}`, async () => (pattern.test(this.errors) ? true : undefined))
  }

  async end(): Promise<void> {
    if (this.child.pid !== undefined && !this.hasEnded) process.kill(-this.child.pid, 'SIGKILL')
    await this.#closed
  }
}
