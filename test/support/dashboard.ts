/** The panels of docs/monitoring/grafana.json, as Grafana exports it, including the panels of collapsed rows. */
import { readDocument } from './documents.js'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly uid: string }
  /** The panels of a collapsed row. */
  readonly panels?: readonly Panel[]
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

const dashboard = JSON.parse(readDocument('docs/monitoring/grafana.json')) as { readonly panels: readonly Panel[] }

export const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])])

export const queries: readonly string[] = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
