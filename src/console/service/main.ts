/** The page of the service: reads, keeps, and shows. Everything is drawn after a reading, or when the pointer moves. */
import { render } from '../vendor/lit-html.js'
import { type Chart, chartsOf } from './charts.js'
import { Drawing } from './drawing.js'
import { pageOf } from './page.js'
import { keepReading } from './requests.js'
import { ServiceState } from './service-state.js'

const state = new ServiceState()

/** By the title of their chart. */
const drawings = new Map<string, Drawing>()

/** Where the pointer is in a chart, in seconds since the epoch. */
let pointedAtS: number | undefined

let charts: readonly Chart[] = []

const nowS = (): number => Date.now() / 1000

function drawingOf({ title }: Chart): Drawing {
  const drawing = drawings.get(title) ?? new Drawing(point)
  drawings.set(title, drawing)
  return drawing
}

/** Every chart has a cursor at the same moment and says so; the text is made once for all. */
function point(atS: number | undefined): void {
  if (atS === pointedAtS) return
  pointedAtS = atS
  requestAnimationFrame(showText)
}

function showText(): void {
  const { summary, history } = state
  const { moments } = history
  const pointed = moments.find(({ atS }) => atS === pointedAtS)
  document.title = `${summary.title} – topicd`
  const shown = {
    host: location.host,
    summary,
    reading: history.lastReading,
    charts: charts.map((chart) => ({ chart, element: drawingOf(chart).element })),
    moment: pointed ?? moments.at(-1),
    isPointedAt: pointed !== undefined,
  }
  render(pageOf(shown), document.body)
}

function show(): void {
  const { moments } = state.history
  charts = chartsOf(moments)
  showText()
  for (const chart of charts) drawingOf(chart).show(chart, moments, nowS())
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const drawing of drawings.values()) drawing.redraw()
})

show()
keepReading(
  (answer) => {
    state.answered(nowS(), answer)
    show()
  },
  (reason) => {
    state.failed(nowS(), reason)
    show()
  },
)
