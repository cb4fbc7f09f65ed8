/** Tables of the busiest keys and of rejections. Names of keys are shown only as text. */
import { html, type TemplateResult } from 'lit-html'
import type { ConsoleState } from '../../ops/figures/console-state.js'
import { formatRate, formatWhole } from '../shared/formats.js'

/** Cells of text; the first is the row's name. */
type Row = readonly string[]

/** @param asOfS the time of the figures; undefined if they are current */
export function tablesOf({ keys = [], otherKeys, refusals = {} }: Partial<ConsoleState>, asOfS: number | undefined) {
  const others = otherKeys?.count ? [{ key: `${formatWhole(otherKeys.count)} more`, ...otherKeys }] : []
  const keyRows = [...keys, ...others].map((of) => [of.key, formatRate(of.perSecond), formatWhole(of.requests)])
  const refusalRows = Object.entries(refusals)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => [code, formatWhole(count)])
  const tone = asOfS === undefined ? '' : 'quiet'
  return html`
    <div class="tables ${tone}">
      ${panelOf('Requests by key', 'rate over 30 s; requests in the last ten minutes', ['Key', 'Rate', 'Requests'], keyRows)}
      ${panelOf('Rejections', 'in the last ten minutes, by error code', ['Code', 'Rejected'], refusalRows)}
    </div>
  `
}

function panelOf(title: string, explanation: string, columns: Row, rows: readonly Row[]): TemplateResult {
  const id = title.toLowerCase().replaceAll(' ', '-')
  const bodyRow = ([name, ...cells]: Row) =>
    html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`
  const table = html`
    <table>
      <thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.map(bodyRow)}</tbody>
    </table>
  `
  return html`
    <section class="panel" aria-labelledby=${id}>
      <h3 id=${id}>${title}</h3>
      <p class="quiet">${explanation}</p>
      ${rows.length === 0 ? html`<p>None.</p>` : table}
    </section>
  `
}
