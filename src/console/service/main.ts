/** The page of the service: reads, keeps, and shows. Everything is drawn after a reading, or when another moment is chosen. */

import { render } from 'lit-html'
import { download, fileName } from '../shared/download.js'
import { type Chart, type ChartGroup, chartGroupsOf, routesOf, workersOf } from './charts/charts.js'
import { csvOf } from './charts/csv.js'
import { Drawing } from './charts/drawing.js'
import { LinePlaces } from './line-places.js'
import { pageOf } from './page.js'
import { keepReading } from './requests.js'
import { ServiceState } from './service-state.js'

const state = new ServiceState()
const workerPlaces = new LinePlaces()
const routePlaces = new LinePlaces()

/** By the title of their chart. */
const drawings = new Map<string, Drawing>()

/** At the pointer in a chart, in seconds since the epoch. */
let pointedAtS: number | undefined

/** Chosen by the slider; undefined for now. */
let chosenS: number | undefined

let groups: readonly ChartGroup[] = []

/** The reason why the charts show nothing. */
let drawingProblem: string | undefined

const nowS = (): number => Date.now() / 1000

const charts = (): Chart[] => groups.flatMap(({ charts }) => charts)

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
  const momentAt = (atS: number | undefined) => state.history.moments.find((moment) => moment.atS === atS)
  const chosen = momentAt(chosenS)
  const other = momentAt(pointedAtS) ?? chosen
  document.title = `${state.summary.title} – ${location.host} – topicd`
  const elementOf = (chart: Chart): HTMLElement => drawingOf(chart).element
  render(pageOf({ state, groups, elementOf, drawingProblem, chosen, other, choose, save }), document.body)
}

function save(): void {
  download(fileName('service', 'csv'), 'text/csv', csvOf(charts(), state.history.moments))
}

/** Without its charts the page still says everything in words. */
function draw(): string | undefined {
  const { moments } = state.history
  try {
    for (const chart of charts()) drawingOf(chart).show(chart, moments, nowS())
    return undefined
  } catch (error) {
    return `The charts cannot be drawn: ${error instanceof Error ? error.message : error}. Try reloading the page.`
  }
}

function show(): void {
  const { moments } = state.history
  const workers = workerPlaces.assign(workersOf(moments))
  groups = chartGroupsOf(moments, { workers, routes: routePlaces.assign(routesOf(moments)) })
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
  () => state.history.sinceS,
  (answer) => {
    state.add(answer, nowS())
    show()
  },
)
