/**
 * The Service page: it reads, keeps and shows the service's state. It redraws after a reading, or when the user selects another
 * time. Other files compose the text.
 */
import { html, render, type TemplateResult } from 'lit-html'
import { download, fileName } from '../shared/download.js'
import { formatClock, timeZone, unknown } from '../shared/formats.js'
import { urlOf } from '../shared/listener.js'
import {
  type Chart,
  type ChartGroups,
  chartGroupsOf,
  type Line,
  routesOf,
  workersAround,
  workersOf,
} from './charts/charts.js'
import { csvOf } from './charts/csv.js'
import { Drawing } from './charts/drawing.js'
import { LineStyles } from './charts/line-styles.js'
import { factsOf } from './facts.js'
import type { ShownMoment } from './history.js'
import { keepReading } from './requests.js'
import { ServiceState } from './service-state.js'
import { tablesOf } from './tables.js'

class ServicePage {
  readonly #state = new ServiceState()
  readonly #workerStyles = new LineStyles()
  readonly #routeStyles = new LineStyles()
  #groups: ChartGroups = {}
  /** The drawings by the title of their chart. */
  readonly #drawings = new Map<string, Drawing>()
  /** The reason why the charts show nothing. */
  #drawingProblem: string | undefined
  /** The time at the pointer in a chart, in Unix seconds. */
  #pointedS: number | undefined
  /** The time that the slider selects; undefined for the current time. */
  #chosenS: number | undefined

  start(): void {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      for (const drawing of this.#drawings.values()) drawing.redraw()
    })
    this.#show()
    const take = (answer: Parameters<ServiceState['add']>[0]): void => {
      this.#state.add(answer, nowS())
      this.#show()
    }
    void keepReading(() => this.#state.history.sinceS, take)
  }

  get #charts(): readonly Chart[] {
    return Object.values(this.#groups).flat()
  }

  #drawingOf({ title }: Chart): Drawing {
    const drawing = this.#drawings.get(title) ?? new Drawing((atS) => this.#point(atS))
    this.#drawings.set(title, drawing)
    return drawing
  }

  /** Every chart reports the shared cursor, so the text is drawn only for the first report. */
  #point(atS: number | undefined): void {
    if (atS === this.#pointedS) return
    this.#pointedS = atS
    requestAnimationFrame(() => this.#showText())
  }

  #choose(atS: number | undefined): void {
    this.#chosenS = atS
    this.#showText()
    for (const drawing of this.#drawings.values()) drawing.mark(atS)
  }

  #show(): void {
    const { moments } = this.#state.history
    const workers = this.#workerStyles.assign(workersOf(moments))
    this.#groups = chartGroupsOf(moments, { workers, routes: this.#routeStyles.assign(routesOf(moments)) })
    this.#showText()
    const problem = this.#draw()
    if (problem === this.#drawingProblem) return
    this.#drawingProblem = problem
    this.#showText()
  }

  /** If the charts cannot be drawn, the page still shows all values as text. */
  #draw(): string | undefined {
    const { moments } = this.#state.history
    try {
      for (const chart of this.#charts) this.#drawingOf(chart).show(chart, moments, nowS())
      return undefined
    } catch (error) {
      return `The charts cannot be drawn: ${error instanceof Error ? error.message : error}. Try reloading the page.`
    }
  }

  #showText(): void {
    document.title = `${this.#state.summary.title} – ${location.host} – topicd`
    render(this.#view(), document.body)
  }

  /** The kept moment at this time; undefined for the current time, or if no moment matches. */
  #momentAt(atS: number | undefined): ShownMoment | undefined {
    return this.#state.history.moments.find((moment) => moment.atS === atS)
  }

  #view(): TemplateResult {
    const { topicsPage } = this.#state.received
    const topicsUrl = topicsPage && urlOf(topicsPage, location.hostname)
    const problem = this.#drawingProblem
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
        ${this.#summaryView()}
        ${this.#factsView()}
        ${this.#momentView()}
        ${problem && html`<p class="panel bad" role="alert">${problem}</p>`}
        ${Object.entries(this.#groups).map(([title, charts]) => this.#groupView(title, charts))}
        <p class="quiet">
          This page shows the last ten minutes, which the service keeps in memory, and updates every two seconds. Monitoring
          systems can use <a href="metrics">metrics</a> and <a href="readyz">readyz</a>. Times are in ${timeZone}. The
          documentation is in the installation's docs folder; <code>man topicd</code> shows its path.
        </p>
      </main>
    `
  }

  /** The text changes only with the state, because screen readers announce each change. */
  #summaryView(): TemplateResult {
    const { kind, title, reasons } = this.#state.summary
    const tone = kind === 'ready' ? 'good' : kind === 'waiting' ? 'quiet' : 'bad'
    return html`
      <div class="panel summary" role="status">
        <strong class=${tone}>${title}</strong>
        <ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>
      </div>
    `
  }

  #factsView(): unknown {
    const { received, history, pageVersion } = this.#state
    const { facts, nowS = 0 } = received
    const { asOfS } = history
    if (facts === undefined) return ''
    return html`
      <section class="panel" aria-labelledby="facts">
        <h2 id="facts">At a glance${asOfS === undefined ? '' : `, as of ${formatClock(asOfS)}`}</h2>
        <dl class=${asOfS === undefined ? 'facts' : 'facts quiet'}>
          ${factsOf({ facts, nowS, pageVersion }).map(
            ({ name, text, isBad }) => html`<div><dt>${name}</dt><dd class=${isBad ? 'bad' : ''}>${text}</dd></div>`,
          )}
        </dl>
      </section>
    `
  }

  /** A slider as the keyboard alternative to the chart cursor. At its end, it follows the current time. */
  #momentView(): TemplateResult {
    const { moments } = this.#state.history
    const chosen = this.#momentAt(this.#chosenS)
    const last = Math.max(0, moments.length - 1)
    const index = chosen ? moments.indexOf(chosen) : last
    const text = chosen ? formatClock(chosen.atS) : 'now'
    const choose = ({ target }: Event): void => {
      const { value } = target as HTMLInputElement
      this.#choose(Number(value) === last ? undefined : moments[Number(value)]?.atS)
    }
    const save = () => download(fileName('service', 'csv'), 'text/csv', csvOf(this.#charts, moments))
    return html`
      <div class="moment">
        <label for="time">Time</label>
        <input id="time" type="range" min="0" max=${last} .value=${String(index)} aria-valuetext=${text} @input=${choose}>
        <span>${text}</span>
        <button ?disabled=${moments.length === 0} @click=${save}>Download CSV</button>
      </div>
    `
  }

  #groupView(title: string, charts: readonly Chart[]): TemplateResult {
    const id = idOf(title)
    const { received, history } = this.#state
    return html`
      <section class="group" aria-labelledby=${id}>
        <h2 id=${id}>${title}</h2>
        <div class="charts">
          ${charts.map((chart) => this.#chartView(chart))}
          ${title === 'Traffic' ? tablesOf(received, history.asOfS) : ''}
        </div>
      </section>
    `
  }

  /** A chart with its values as text: those at the pointer, at the selected time, or now. */
  #chartView(chart: Chart): TemplateResult {
    const { title, explanation, lines } = chart
    const { last, moments } = this.#state.history
    const id = idOf(title)
    const other = this.#momentAt(this.#pointedS) ?? this.#momentAt(this.#chosenS)
    const moment = other ?? last
    const workers = moment ? workersAround(moment, moments) : new Set()
    const shown = lines.map((line) => (line.isOfWorker && !workers.has(line.name) ? '' : lineView(chart, line, moment)))
    return html`
      <section class="panel" aria-labelledby=${id}>
        <h3 id=${id}>${title}</h3>
        <p class="quiet">${other ? `at ${formatClock(other.atS)}` : explanation}</p>
        ${this.#drawingOf(chart).element}
        <dl class="lines">${shown}</dl>
      </section>
    `
  }
}

const nowS = (): number => Date.now() / 1000

const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z]+/g, '-')

function lineView({ format }: Chart, line: Line, moment: ShownMoment | undefined): TemplateResult {
  const { colour, dash } = line.style
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

new ServicePage().start()
