/**
 * A real Prometheus on its own port, which scrapes every second and evaluates docs/monitoring/alerts.yml with shorter times: windows are
 * divided by 15, and an alert fires after at most a few seconds. Thresholds are unchanged.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { readDocument } from '../documents.js'
import { until } from '../service/server.js'
import { tied } from '../tied.js'
import { alertsFile } from './alerts.js'
import { freePorts } from './ports.js'

export interface ActiveAlert {
  readonly state: 'pending' | 'firing'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const secondsOf: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }

const windowDivisor = 15
const forSecondsMax = 3

function shortened(rules: string): string {
  const seconds = (number = '', unit = ''): number => Number(number) * (secondsOf[unit] ?? assert.fail(unit))
  return rules
    .replace(/\[(\d+)([mhd])\]/g, (_, number, unit) => `[${seconds(number, unit) / windowDivisor}s]`)
    .replace(/for: (\d+)([mhd])/g, (_, number, unit) => `for: ${Math.min(forSecondsMax, seconds(number, unit) / 60)}s`)
}

const configuration = `
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs:
  - job_name: topicd
    file_sd_configs: [{ files: [targets.json], refresh_interval: 1s }]
`

export class Prometheus {
  readonly #targets = new Map<string, string>()

  private constructor(
    private readonly directory: string,
    private readonly url: string,
  ) {}

  /** Starts Prometheus until the test ends. @param directory a new directory, for its files */
  static async start(t: Test, directory: string): Promise<Prometheus> {
    const [port] = await freePorts(1)
    const prometheus = new Prometheus(directory, `http://127.0.0.1:${port}`)
    mkdirSync(directory)
    writeFileSync(join(directory, 'prometheus.yml'), configuration)
    writeFileSync(join(directory, 'alerts.yml'), shortened(readDocument(alertsFile)))
    prometheus.#writeTargets()
    const child = spawn(
      ...tied('prometheus', [
        ...[`--config.file=${directory}/prometheus.yml`, `--storage.tsdb.path=${directory}/data`],
        ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=error'],
      ]),
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const ended = once(child, 'exit')
    t.teardown(async () => {
      child.kill('SIGKILL')
      await ended
    })
    await until('Prometheus is ready', async () => {
      const answer = await fetch(`${prometheus.url}/-/ready`).catch(() => undefined)
      return answer?.ok || undefined
    })
    return prometheus
  }

  /** Also scrapes this admin listener, under the instance's name. */
  watch(instance: string, adminUrl: string): void {
    this.#targets.set(instance, new URL(adminUrl).host)
    this.#writeTargets()
  }

  /** The current values of an expression. */
  async query(expr: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]> {
    const { result } = (await this.#get(`query?query=${encodeURIComponent(expr)}`)) as { result: [] }
    return result
  }

  /** The alerts that are currently firing. */
  async firing(): Promise<readonly ActiveAlert[]> {
    const { alerts } = (await this.#get('alerts')) as { alerts: readonly ActiveAlert[] }
    return alerts.filter(({ state }) => state === 'firing')
  }

  async #get(path: string): Promise<unknown> {
    const answer = (await (await fetch(`${this.url}/api/v1/${path}`)).json()) as { status: string; data: unknown }
    assert.equal(answer.status, 'success', JSON.stringify(answer))
    return answer.data
  }

  #writeTargets(): void {
    const groups = [...this.#targets].map(([instance, host]) => ({ targets: [host], labels: { instance } }))
    // Write and rename, so that Prometheus never reads a partial file.
    const file = join(this.directory, 'targets.json')
    writeFileSync(`${file}.new`, JSON.stringify(groups))
    renameSync(`${file}.new`, file)
  }
}
