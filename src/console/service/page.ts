/** The page as markup. All texts are created elsewhere. */
import { html, type TemplateResult } from 'lit-html'
import { urlOf } from '../shared/listener.js'
import { type Chart, type ChartGroup, type Line, styleOf, workersAround } from './charts/charts.js'
import { factsOf } from './facts.js'
import { formatClock, timeZone, unknown } from './formats.js'
import type { ShownMoment } from './history.js'
import type { ServiceState, Summary } from './service-state.js'
import { tablesOf } from './tables.js'

interface Shown {
  readonly state: ServiceState
  readonly groups: readonly ChartGroup[]
  /** With the drawing of a chart. */
  readonly elementOf: (chart: Chart) => HTMLElement
  readonly drawingProblem: string | undefined
  /** Chosen by the slider; undefined for now. */
  readonly chosen: ShownMoment | undefined
  /** Its values are shown as text: that at the pointer, or the chosen one; undefined for now. */
  readonly other: ShownMoment | undefined
  /** @param atS undefined for now */
  readonly choose: (atS: number | undefined) => void
  readonly save: () => void
}

export function pageOf(shown: Shown): TemplateResult {
  const { state, groups, drawingProblem } = shown
  const { topicsPage } = state.received
  const topicsUrl = topicsPage && urlOf(topicsPage, location.hostname)
  return html`
    <header class="top">
      <h1>topicd service</h1>
      <span class="quiet">${location.host}</span>
      <span class="row links">
        ${topicsUrl && html`<a href=${topicsUrl}>Topics</a>`}
        <a href="openapi.json">API description</a>
      </span>
    </header>
    <main>
      ${summaryOf(state.summary)}
      ${factsPanel(state)}
      ${momentChoice(shown)}
      ${drawingProblem && html`<p class="panel bad" role="alert">${drawingProblem}</p>`}
      ${groups.map((of) => groupOf(of, shown))}
      <p class="quiet">
        The last ten minutes, from the service's memory, read every two seconds. For monitoring systems there are
        <a href="metrics">metrics</a> and <a href="readyz">readyz</a>. Times are in ${timeZone}. Documentation is in the
        installation's folder docs; <code>man topicd</code> says where.
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

function factsPanel({ received: { facts, nowS = 0 }, history: { asOfS }, pageVersion }: ServiceState): unknown {
  return (
    facts &&
    html`
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">At a glance${asOfS === undefined ? '' : `, as of ${formatClock(asOfS)}`}</h2>
      <dl class=${asOfS === undefined ? 'facts' : 'facts quiet'}>
        ${factsOf({ facts, nowS, pageVersion }).map(
          ({ name, text, isBad }) => html`<div><dt>${name}</dt><dd class=${isBad ? 'bad' : ''}>${text}</dd></div>`,
        )}
      </dl>
    </section>
  `
  )
}

/** Keyboard alternative to the chart cursor: its end is now, which it follows. */
function momentChoice({ state, chosen, choose, save }: Shown): TemplateResult {
  const { moments } = state.history
  const last = Math.max(0, moments.length - 1)
  const index = chosen ? moments.indexOf(chosen) : last
  const text = chosen ? formatClock(chosen.atS) : 'now'
  const chooseAt = ({ target }: Event): void => {
    const { value } = target as HTMLInputElement
    choose(Number(value) === last ? undefined : moments[Number(value)]?.atS)
  }
  return html`
    <div class="moment">
      <label for="time">Time</label>
      <input id="time" type="range" min="0" max=${last} .value=${String(index)} aria-valuetext=${text} @input=${chooseAt}>
      <span>${text}</span>
      <button ?disabled=${moments.length === 0} @click=${save}>Download CSV</button>
    </div>
  `
}

function groupOf({ title, charts }: ChartGroup, shown: Shown): TemplateResult {
  const id = idOf(title)
  const { received, history } = shown.state
  return html`
    <section class="group" aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      <div class="charts">
        ${charts.map((of) => chartPanel(of, shown))}
        ${title === 'Traffic' ? tablesOf(received, history.asOfS) : ''}
      </div>
    </section>
  `
}

const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z]+/g, '-')

function chartPanel(chart: Chart, { state, elementOf, other }: Shown): TemplateResult {
  const { title, explanation, lines } = chart
  const { last, moments } = state.history
  const id = idOf(title)
  const moment = other ?? last
  const workers = moment ? workersAround(moment, moments) : new Set()
  const shown = lines.map((line, index) =>
    line.isOfWorker && !workers.has(line.name) ? '' : lineOf(chart, line, index, moment),
  )
  return html`
    <section class="panel" aria-labelledby=${id}>
      <h3 id=${id}>${title}</h3>
      <p class="quiet">${other ? `at ${formatClock(other.atS)}` : explanation}</p>
      ${elementOf(chart)}
      <dl class="lines">${shown}</dl>
    </section>
  `
}

function lineOf({ format }: Chart, line: Line, index: number, moment: ShownMoment | undefined): TemplateResult {
  const { colour, dash } = styleOf(line, index)
  const value = moment && line.value(moment)
  const text = moment === undefined || value === undefined ? unknown : (line.text?.(moment) ?? format(value))
  const warning = moment && line.warning?.(moment)
  return html`
    <div>
      <dt><span class="swatch colour-${colour} ${dash}"></span>${line.name}</dt>
      <dd class=${warning ? 'bad' : ''}>${warning ? `${text}, ${warning}` : text}</dd>
    </div>
  `
}
