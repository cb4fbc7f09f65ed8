/** The page as markup. All texts are created elsewhere. */
import { html, type TemplateResult } from 'lit-html'
import { type Chart, type Line, styleOf } from './charts/charts.js'
import { type FactsBasis, factsOf } from './facts.js'
import { formatClock, timeZone, unknown } from './formats.js'
import type { Moment } from './history.js'
import type { Summary } from './service-state.js'

interface ShownChart {
  readonly chart: Chart
  readonly element: HTMLElement
}

interface Shown {
  readonly host: string
  /** Undefined if it is not known. */
  readonly topicsUrl: string | undefined
  readonly summary: Summary
  /** Undefined before the first reading. `isOld`: nothing could be read since. */
  readonly facts: (FactsBasis & { readonly isOld: boolean }) | undefined
  readonly charts: readonly ShownChart[]
  readonly drawingProblem: string | undefined
  readonly moments: readonly Moment[]
  /** Chosen by the slider; undefined for now. */
  readonly chosen: Moment | undefined
  /** @param atS undefined for now */
  readonly choose: (atS: number | undefined) => void
  readonly save: () => void
  /** Its values are shown as text. */
  readonly moment: Moment | undefined
  /** True for another moment than the last. */
  readonly isOtherMoment: boolean
  /** Workers that are named next to the charts. */
  readonly pids: ReadonlySet<string>
}

export function pageOf(shown: Shown): TemplateResult {
  const { host, topicsUrl, summary, facts, charts, drawingProblem } = shown
  return html`
    <header class="top">
      <h1>topicd service</h1>
      <span class="quiet">${host}</span>
      <span class="row links">
        ${topicsUrl && html`<a href=${topicsUrl}>Topics</a>`}
        <a href="openapi.json">API description</a>
      </span>
    </header>
    <main>
      ${summaryOf(summary)}
      ${facts && factsPanel(facts)}
      ${momentChoice(shown)}
      ${drawingProblem && html`<p class="panel bad" role="alert">${drawingProblem}</p>`}
      <div class="charts">${charts.map((of) => chartPanel(of, shown))}</div>
      <p class="quiet">
        The last ten minutes, which the service keeps in memory; read every two seconds from
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

function factsPanel(basis: NonNullable<Shown['facts']>): TemplateResult {
  const { reading, isOld } = basis
  return html`
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">At a glance${isOld ? `, as of ${formatClock(reading.atS)}` : ''}</h2>
      <dl class=${isOld ? 'facts quiet' : 'facts'}>
        ${factsOf(basis).map(
          ({ name, text, isBad }) => html`<div><dt>${name}</dt><dd class=${isBad ? 'bad' : ''}>${text}</dd></div>`,
        )}
      </dl>
    </section>
  `
}

/** Keyboard alternative to the chart cursor: its end is now, which it follows. */
function momentChoice({ moments, chosen, choose, save }: Shown): TemplateResult {
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

function chartPanel({ chart, element }: ShownChart, { moment, isOtherMoment, pids }: Shown): TemplateResult {
  const { title, explanation = '', lines } = chart
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  const shown = lines.map((line, index) => (line.pid && !pids.has(line.pid) ? '' : lineOf(chart, line, index, moment)))
  return html`
    <section class="panel" aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      <p class="quiet">${isOtherMoment && moment ? `at ${formatClock(moment.atS)}` : explanation}</p>
      ${element}
      <dl class="lines">${shown}</dl>
    </section>
  `
}

function lineOf({ format }: Chart, line: Line, index: number, moment: Moment | undefined): TemplateResult {
  const { colour, dash } = styleOf(line, index)
  const point = moment?.point
  const value = point && line.value(point)
  const text = point === undefined || value === undefined ? unknown : (line.text?.(point) ?? format(value))
  const warning = point && line.warning?.(point)
  return html`
    <div>
      <dt><span class="swatch colour-${colour} ${dash}"></span>${line.name}</dt>
      <dd class=${warning ? 'bad' : ''}>${warning ? `${text}, ${warning}` : text}</dd>
    </div>
  `
}
