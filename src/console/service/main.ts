/** The page of the service: reads, keeps, and shows. Everything is drawn after a reading, or when another moment is chosen. */

import { render } from 'lit-html'
import { download, fileName } from '../shared/download.js'
import { urlOf } from '../shared/listener.js'
import { type Chart, chartsOf, pidsAround, pidsOf } from './charts/charts.js'
import { csvOf } from './charts/csv.js'
import { Drawing } from './charts/drawing.js'
import { pageOf } from './page.js'
import { keepReading } from './requests.js'
import { ServiceState } from './service-state.js'
import { WorkerPlaces } from './worker-places.js'

const state = new ServiceState()
const places = new WorkerPlaces()

/** By the title of their chart. */
const drawings = new Map<string, Drawing>()

/** At the pointer in a chart, in seconds since the epoch. */
let pointedAtS: number | undefined

/** Chosen by the slider; undefined for now. */
let chosenS: number | undefined

let charts: readonly Chart[] = []

/** The reason why the charts show nothing. */
let drawingProblem: string | undefined

const nowS = (): number => Date.now() / 1000

function drawingOf({ title }: Chart): Drawing {
  const drawing = drawings.get(title) ?? new Drawing(point)
  drawings.set(title, drawing)
  return drawing
}

/** Every chart reports the same cursor, so the text is created once for all. */
function point(atS: number | undefined): void {
  if (atS === pointedAtS) return
  pointedAtS = atS
  requestAnimationFrame(showText)
}

function choose(atS: number | undefined): void {
  chosenS = atS
  showText()
  for (const drawing of drawings.values()) drawing.mark(atS)
}

function showText(): void {
  const { summary, history, pageVersion, topicsPage } = state
  const { moments, lastReading, firstReadingOfRun } = history
  const momentAt = (atS: number | undefined) => moments.find((moment) => moment.atS === atS)
  const chosen = momentAt(chosenS)
  const other = momentAt(pointedAtS) ?? chosen
  const moment = other ?? moments.at(-1)
  document.title = `${summary.title} – ${location.host} – topicd`
  const shown = {
    host: location.host,
    topicsUrl: topicsPage && urlOf(topicsPage, location.hostname),
    summary,
    facts: lastReading && {
      reading: lastReading,
      first: firstReadingOfRun ?? lastReading,
      pageVersion,
      isOld: moments.at(-1)?.point === undefined,
    },
    charts: charts.map((chart) => ({ chart, element: drawingOf(chart).element })),
    drawingProblem,
    moments,
    chosen,
    choose,
    save,
    moment,
    isOtherMoment: other !== undefined,
    pids: moment ? pidsAround(moment, moments) : new Set<string>(),
  }
  render(pageOf(shown), document.body)
}

function save(): void {
  download(fileName('service', 'csv'), 'text/csv', csvOf(charts, state.history.moments))
}

/** Without its charts the page still says everything in words. */
function draw(): string | undefined {
  const { moments } = state.history
  try {
    for (const chart of charts) drawingOf(chart).show(chart, moments, nowS())
    return undefined
  } catch (error) {
    return `The charts cannot be drawn: ${error instanceof Error ? error.message : error}. Try reloading the page.`
  }
}

function show(): void {
  const { moments } = state.history
  charts = chartsOf(moments, places.assign(pidsOf(moments)))
  showText()
  const problem = draw()
  if (problem === drawingProblem) return
  drawingProblem = problem
  showText()
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const drawing of drawings.values()) drawing.redraw()
})

show()
keepReading(
  (atS) => state.history.isBehind(atS),
  (round) => {
    state.add(round)
    show()
  },
)
