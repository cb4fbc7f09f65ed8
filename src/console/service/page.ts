/** The page: what is known of the service as markup. All texts are made elsewhere. */
import { html, type TemplateResult } from '../vendor/lit-html.js'
import { type Chart, colourOf, type Line } from './charts.js'
import { factsOf } from './facts.js'
import { formatClock, unknown } from './formats.js'
import type { Moment } from './history.js'
import type { Reading } from './reading.js'
import type { Summary } from './service-state.js'

interface ShownChart {
  readonly chart: Chart
  /** Where it is drawn. */
  readonly element: HTMLElement
}

export interface Shown {
  readonly host: string
  readonly summary: Summary
  /** The last one; undefined before the first. */
  readonly reading: Reading | undefined
  readonly charts: readonly ShownChart[]
  /** The moment whose values are shown as text; undefined for none. */
  readonly moment: Moment | undefined
  /** Whether that is the one below the pointer, and not the last. */
  readonly isPointedAt: boolean
}

export function pageOf(shown: Shown): TemplateResult {
  const { host, summary, reading, charts } = shown
  return html`
    <header class="top">
      <h1>topicd service</h1>
      <span class="quiet">${host}</span>
    </header>
    <main>
      ${summaryOf(summary)}
      ${reading && factsPanel(reading)}
      <div class="charts">${charts.map((of) => chartPanel(of, shown))}</div>
      <p class="quiet">
        The last ten minutes, since this page was opened; read every two seconds from <a href="metrics">metrics</a> and
        <a href="readyz">readyz</a>. Nothing is stored.
      </p>
    </main>
  `
}

/** Its text changes only with the state, and is then read aloud. */
function summaryOf({ kind, title, reasons }: Summary): TemplateResult {
  const tone = kind === 'ready' ? 'good' : kind === 'waiting' ? 'quiet' : 'bad'
  return html`
    <div class="panel summary" role="status">
      <strong class=${tone}>${title}</strong>
      <ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>
    </div>
  `
}

function factsPanel(reading: Reading): TemplateResult {
  return html`
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">At a glance</h2>
      <dl class="facts">
        ${factsOf(reading).map(
          ({ name, text, isBad }) => html`<div><dt>${name}</dt><dd class=${isBad ? 'bad' : ''}>${text}</dd></div>`,
        )}
      </dl>
    </section>
  `
}

function chartPanel({ chart, element }: ShownChart, { moment, isPointedAt }: Shown): TemplateResult {
  const { title, explanation = '', lines } = chart
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return html`
    <section class="panel" aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      <p class="quiet">${isPointedAt && moment ? `at ${formatClock(moment.atS)}` : explanation}</p>
      ${element}
      <dl class="lines">${lines.map((line, index) => lineOf(chart, line, index, moment))}</dl>
    </section>
  `
}

function lineOf({ format }: Chart, line: Line, index: number, moment: Moment | undefined): TemplateResult {
  const value = moment?.point && line.value(moment.point)
  return html`
    <div>
      <dt><span class="swatch swatch-${colourOf(line, index)}"></span>${line.name}</dt>
      <dd>${value === undefined ? unknown : format(value)}</dd>
    </div>
  `
}
