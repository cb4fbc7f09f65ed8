/** Who is busy and what was refused, as tables. Names of keys are whatever operators have chosen, and only text here. */
import { html, type TemplateResult } from 'lit-html'
import type { ConsoleState } from '../../ops/figures/console-state.js'
import { formatRate, formatWhole } from './formats.js'

interface Table {
  readonly title: string
  readonly explanation: string
  readonly columns: readonly string[]
  /** The first cell is the row's name. */
  readonly rows: readonly (readonly string[])[]
}

/** @param isOld they are not of now */
export function tablesOf(
  { keys = [], otherKeys, refusals = {} }: Partial<ConsoleState>,
  isOld: boolean,
): TemplateResult[] {
  const rows = keys.map(({ key, perSecond, requests }) => [key, formatRate(perSecond), formatWhole(requests)])
  const others = otherKeys?.count ? [otherRow(otherKeys)] : []
  const tables: readonly Table[] = [
    {
      title: 'Requests by key',
      explanation: 'rate over 30 s; requests in the last ten minutes',
      columns: ['Key', 'Rate', 'Requests'],
      rows: [...rows, ...others],
    },
    {
      title: 'Refusals',
      explanation: 'in the last ten minutes, by error code',
      columns: ['Code', 'Refused'],
      rows: Object.entries(refusals)
        .sort(([, a], [, b]) => b - a)
        .map(([code, count]) => [code, formatWhole(count)]),
    },
  ]
  return tables.map((table) => tablePanel(table, isOld))
}

function otherRow({ count, perSecond, requests }: NonNullable<ConsoleState['otherKeys']>): string[] {
  return [`${formatWhole(count)} more`, formatRate(perSecond), formatWhole(requests)]
}

function tablePanel({ title, explanation, columns, rows }: Table, isOld: boolean): TemplateResult {
  const id = title.toLowerCase().replaceAll(' ', '-')
  const [head, ...others] = columns
  return html`
    <section class="panel" aria-labelledby=${id}>
      <h3 id=${id}>${title}</h3>
      <p class="quiet">${explanation}</p>
      ${
        rows.length === 0
          ? html`<p>None.</p>`
          : html`
        <table class=${isOld ? 'quiet' : ''}>
          <thead><tr><th scope="col">${head}</th>${others.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
          <tbody>${rows.map(
            ([name, ...cells]) =>
              html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
          )}</tbody>
        </table>
      `
      }
    </section>
  `
}
