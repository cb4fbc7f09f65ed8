/**
 * The admin listener as a monitoring system sees it: plain GETs, and a parser for Prometheus's text format.
 */
import { strict as assert } from 'node:assert'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metrics {
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]
  /** The sum of the samples with this name and these labels; 0 if the metric exists but has no such sample. */
  value(name: string, labels?: Readonly<Record<string, string>>): number
}

export async function get(url: string, method = 'GET'): Promise<{ status: number; type: string | null; text: string }> {
  const response = await fetch(url, { method })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

export async function scrape(adminUrl: string): Promise<Metrics> {
  const { status, text } = await get(`${adminUrl}/metrics`)
  assert.equal(status, 200, text)
  return parsed(text)
}

const sampleLine = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i

function parsed(text: string): Metrics {
  const types = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (typed !== undefined && type !== undefined) types.set(typed, type)
    if (line === '' || line.startsWith('#')) continue
    const [, name = '', labelText = '', value = ''] = sampleLine.exec(line) ?? assert.fail(`not a sample: ${line}`)
    const labels = Object.fromEntries([...labelText.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text]))
    samples.push({ name, labels, value: Number(value.replace('+Inf', 'Infinity')) })
  }
  const matches = (sample: Sample, labels: Readonly<Record<string, string>>): boolean =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  return {
    types,
    samples,
    value(name, labels = {}) {
      assert(types.has(name.replace(/_(sum|count|bucket)$/, '')) || types.has(name), `there is no metric ${name}`)
      return samples
        .filter((sample) => sample.name === name && matches(sample, labels))
        .reduce((sum, { value }) => sum + value, 0)
    },
  }
}
