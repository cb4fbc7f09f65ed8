/**
 * Prometheus's text format, as far as a page needs it: the samples of each metric, without types and help. A line that
 * is no sample is passed over, since a newer service may write what this page does not know, and so is one whose value
 * is no number.
 */

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface MetricsText {
  /** The samples of this name; none if there is no such metric. */
  samples(name: string): readonly Sample[]
  /** The sum of its samples; undefined if there is none. */
  sum(name: string): number | undefined
}

const sampleLine = /^([a-z_:][\w:]*)(?:\{(.*)\})? +(\S+)/i

export function parseMetricsText(text: string): MetricsText {
  const byName = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const [, name, labels = '', value = ''] = sampleLine.exec(line) ?? []
    if (name === undefined) continue
    const number = parseValue(value)
    if (Number.isNaN(number)) continue
    const samples = byName.get(name) ?? []
    byName.set(name, samples)
    samples.push({ labels: parseLabels(labels), value: number })
  }
  const samples = (name: string): readonly Sample[] => byName.get(name) ?? []
  return {
    samples,
    sum: (name) => byName.get(name)?.reduce((sum, { value }) => sum + value, 0),
  }
}

const escaped: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' }

function parseLabels(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries(
    [...pairs].map(([, label = '', value = '']) => [label, value.replace(/\\./g, (pair) => escaped[pair] ?? pair)]),
  )
}

/** A number, which the format writes as JavaScript does, except for the infinite ones. */
function parseValue(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'))
}
