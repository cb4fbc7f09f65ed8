/** Samples in Prometheus's text format. Other lines are skipped: a newer service may write more than the page knows. */

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface MetricsText {
  samples(name: string): readonly Sample[]
  /** Undefined if there is no sample. */
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

/** Written as in JavaScript, except for infinite numbers. */
function parseValue(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'))
}
