/** The alerting rules of docs/monitoring/alerts.yml as tests read them, and the reason for skipping tests of the rules. */
import { spawnSync } from 'node:child_process'
import { readDocument } from '../documents.js'

export const alertsFile = 'docs/monitoring/alerts.yml'

interface Alert {
  readonly name: string
  /** critical or warning. */
  readonly severity: string
  /** The document and the heading in the alert's annotation. */
  readonly runbook: string
}

/** Every alert of the rules, in file order. */
export const alerts: readonly Alert[] = readDocument(alertsFile)
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((rule) => {
    const [, severity = ''] = /labels: \{ severity: (\w+) \}/.exec(rule) ?? []
    const [, runbook = ''] =
      /^ {10}runbook_url: '\{\{ or \$externalLabels\.topicd_docs "docs" \}\}(\/\S+)'$/m.exec(rule) ?? []
    return { name: rule.slice(0, rule.indexOf('\n')), severity, runbook: `docs${runbook}` }
  })

/** Why this machine cannot run a program of Prometheus; false if it can. */
export function whyNot(program: 'promtool' | 'prometheus'): string | false {
  return spawnSync(program, ['--version']).error !== undefined && `${program} is not installed: alerts were NOT tested`
}
