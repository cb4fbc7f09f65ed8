/** Steps of the package tests on a machine: load during an upgrade, and requests. */
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { Machine } from './machine.js'
import type { LoadReport } from './machine-load.js'

/**
 * Runs `run` while the machine's service is under steady load; a failed request fails the test.
 *
 * @param across "reload" if clients may retry once, "restart" if they may retry until the service is back
 */
export async function underLoad(
  t: Test,
  machine: Machine,
  token: string,
  run: () => void,
  across: 'reload' | 'restart' = 'reload',
): Promise<void> {
  const program = join(import.meta.dirname, 'machine-load.js')
  const load = machine.inNetwork(process.execPath, [program, 'http://127.0.0.1:8080', token, across])
  try {
    const ended = once(load, 'exit')
    const lines = createInterface({ input: load.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
    await lines.next()
    run()
    load.stdin?.end()
    const { value } = await lines.next()
    await ended
    const { answered, failed } = JSON.parse(value as string) as LoadReport
    t.strictSame(failed, [], `none of ${answered} requests failed`)
  } finally {
    load.kill('SIGKILL')
  }
}

/** Waits until a script succeeds in the machine; fails after `secondsMax`. */
export function until(machine: Machine, script: string, secondsMax = 120): void {
  // Retry in one shell: entering the machine each time would cost more than most scripts.
  const { status, output } = machine.try(
    `while ! (${script}); do [ $SECONDS -lt ${secondsMax} ] || exit 1; sleep 0.2; done`,
  )
  if (status !== 0) throw new Error(`not within ${secondsMax} s: ${script}\n${output}`)
}

/** Sends a request to a route, as a script. @returns the response's body */
export function post(machine: Machine, token: string, route: string, body: object, port = 8080): string {
  const headers = `-H 'authorization: Apikey ${token}' -H 'content-type: application/json'`
  return machine.run(`curl -sS ${headers} -d '${JSON.stringify(body)}' http://127.0.0.1:${port}/topics/${route}`)
}

/** Adds an API key, which every worker knows when the command exits. @returns its token */
export function makeKey(machine: Machine, name: string, flags: string): string {
  return machine.run(`runuser -u topicd -- topicd keys add ${name} ${flags} 2>/dev/null`)
}
