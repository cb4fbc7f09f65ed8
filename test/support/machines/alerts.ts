/** The alerting rules of docs/monitoring/alerts.yml as tests read them, and why a test of them is skipped. */
import { spawnSync } from 'node:child_process'
import { readDocument } from '../documents.js'

export const alertsFile = 'docs/monitoring/alerts.yml'

export interface Alert {
  readonly name: string
  /** critical or warning. */
  readonly severity: string
  /** The document and the heading that its annotation names. */
  readonly runbook: string
}

/** Every alert of a file of rules, in its order. */
export function alertsOf(text: string): Alert[] {
  return text.split(/^ {6}- alert: /m).flatMap((rule, index) => {
    if (index === 0) return []
    const [, severity = ''] = /labels: \{ severity: (\w+) \}/.exec(rule) ?? []
    const [, runbook = ''] =
      /^ {10}runbook_url: '\{\{ or \$externalLabels\.topicd_docs "docs" \}\}(\/\S+)'$/m.exec(rule) ?? []
    return [{ name: rule.slice(0, rule.indexOf('\n')), severity, runbook: `docs${runbook}` }]
  })
}

export const alerts: readonly Alert[] = alertsOf(readDocument(alertsFile))

/** Why this machine cannot run a program of Prometheus; false if it can. */
export function whyNot(program: 'promtool' | 'prometheus'): string | false {
  return spawnSync(program, ['--version']).error !== undefined && `${program} is not installed: alerts were NOT tested`
}
