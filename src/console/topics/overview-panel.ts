/** The root panel: the number of topics, the latest changes, the service's state, and the top of the tree. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import type { Overview } from '../../api/console/primary.js'
import { agoText, formatWhole, unknown } from '../shared/formats.js'
import { addressOfChanges, addressOfPath } from './address.js'
import type { Context, Panel } from './context.js'
import { byPath, nowMs, whileSeen } from './drawing.js'
import type { SeenChange } from './live/names.js'
import { readOverview, servicePageOf } from './session.js'
import { ChildrenPanel } from './table/children-panel.js'
import { visible } from './value-text.js'

/** Interval between two readings of the service's figures, in ms. */
const readMs = 5000

export class OverviewPanel implements Panel {
  readonly title = 'Topics'
  readonly #children: ChildrenPanel
  readonly #overview = signal<Overview | undefined>(undefined)
  readonly #stopReading: () => void

  constructor(private readonly context: Context) {
    this.#children = new ChildrenPanel('', context)
    this.#stopReading = whileSeen(readMs, () => this.#read())
    void this.#read()
  }

  async #read(): Promise<void> {
    this.#overview.value = await readOverview(this.context.session)
  }

  leave(): void {
    this.#stopReading()
    this.#children.leave()
  }

  shownPaths(): readonly string[] {
    return this.#children.shownPaths()
  }

  view(): TemplateResult {
    const last = this.context.names.last.value
    const overview = this.#overview.value
    return html`
      <section class="panel" aria-labelledby="overview-title">
        <h2 id="overview-title" tabindex="-1">Overview</h2>
        ${overview === undefined ? nothing : this.#serviceView(overview)}
        <h3>Latest changes</h3>
        ${
          last.length === 0
            ? html`<p class="quiet">Nothing has changed since this page was opened.</p>`
            : html`<ul class="last">${byPath(last, lastView)}</ul>`
        }
        <p><a href=${addressOfChanges('?.*//')}>Watch all changes</a></p>
        ${this.#children.view()}
      </section>
    `
  }

  #serviceView({ ready, problems, topics, streams, connections, version, started }: Overview): TemplateResult {
    const page = servicePageOf(this.context.session.key)
    const facts: readonly (readonly [name: string, value: unknown])[] = [
      ['Service', ready ? html`<span class="good">ready</span>` : html`<span class="bad">not ready</span>`],
      ['Topics', topics === null ? unknown : formatWhole(topics)],
      ['Streams', formatWhole(streams)],
      ['Connections', formatWhole(connections)],
      ['Started', agoText(started, nowMs.value)],
      ['Version', version],
    ]
    return html`
      <dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      ${problems.map((problem) => html`<p class="bad">${problem}</p>`)}
      ${page === undefined ? nothing : html`<p><a href=${page}>All figures about the service</a></p>`}`
  }
}

function lastView({ path, item, iso }: SeenChange): TemplateResult {
  return html`<li>
    <a class="exact" href=${addressOfPath(path)}>${visible(path)}</a>
    <span class="quiet">${item === undefined ? 'removed ' : ''}<time datetime=${iso}>${agoText(iso, nowMs.value)}</time></span>
  </li>`
}
