/** The panel next to the tree: a topic, matches or changes. It keeps abandoned edits, and the last page of results. */
import { html, type TemplateResult } from 'lit-html'
import { ChangesPanel } from './changes-panel.js'
import { changesView } from './changes-view.js'
import type { Context } from './context.js'
import type { Dialogs } from './dialogs/dialogs.js'
import { RemoveDialog } from './dialogs/remove-dialog.js'
import type { Refreshable } from './refresher.js'
import { SearchPanel } from './search/search-panel.js'
import { searchView } from './search/search-view.js'
import { may } from './session.js'
import { type Edit, TopicPanel } from './topic-panel.js'
import { topicView } from './topic-view.js'
import { visible } from './value-text.js'

export class ShownPanel {
  #panel: TopicPanel | SearchPanel | ChangesPanel | undefined
  /** The first fetch of the panel. */
  #arrival: Promise<void> = Promise.resolve()
  #search: SearchPanel | undefined
  /** Panels with an edit, by path, until they are shown again. */
  readonly #edited = new Map<string, TopicPanel>()

  /** @param interrupted edits of an earlier session, by path */
  constructor(
    private readonly context: Context,
    private readonly dialogs: Dialogs,
    interrupted: ReadonlyMap<string, Edit>,
  ) {
    for (const [path, edit] of interrupted) {
      const panel = new TopicPanel(path, context)
      panel.edit = edit
      this.#edited.set(path, panel)
    }
  }

  /** Undefined if no topic is shown. */
  get path(): string | undefined {
    return this.#panel instanceof TopicPanel ? this.#panel.path : undefined
  }

  /** True for a path without a topic. */
  get isAbsent(): boolean {
    return this.#panel instanceof TopicPanel && this.#panel.item === null
  }

  /** In words, for the title of the tab. */
  get title(): string | undefined {
    if (this.#panel instanceof SearchPanel) return visible(this.#panel.selector)
    if (this.#panel instanceof ChangesPanel) return `Changes of ${visible(this.#panel.selector)}`
    return this.path && visible(this.path)
  }

  /** Unsaved edits, by path. */
  unsaved(): ReadonlyMap<string, Edit> {
    const shown = this.#panel instanceof TopicPanel ? [this.#panel] : []
    const edits = [...this.#edited.values(), ...shown].flatMap(({ path, edit }) =>
      edit === undefined ? [] : [[path, edit] as const],
    )
    return new Map(edits)
  }

  /** Paths of abandoned edits. */
  leftEdits(): readonly string[] {
    return [...this.#edited.keys()]
  }

  showNothing(): void {
    this.#leave()
    this.#panel = undefined
  }

  showTopic(path: string): void {
    this.#leave()
    const panel = this.#edited.get(path) ?? new TopicPanel(path, this.context)
    this.#edited.delete(path)
    this.#panel = panel
    const focus = this.context.focusLater()
    this.#arrival = panel.refresh().then(() => focus('#topic-path'))
  }

  /** "Back" from a result leads to the page of results that it was on. */
  showMatches(selector: string): void {
    this.#leave()
    const panel = this.#search?.selector === selector ? this.#search : new SearchPanel(selector, this.context)
    this.#search = panel
    this.#panel = panel
    const focus = this.context.focusLater()
    this.#arrival = panel.refresh().then(() => {
      if (panel.problem === '') focus('#search-title')
    })
  }

  showChanges(selector: string): void {
    this.#leave()
    const panel = new ChangesPanel(selector, this.context)
    this.#panel = panel
    panel.start()
    this.context.focusLater()('#changes-title')
  }

  /** A new search begins with its first page. */
  forgetSearch(): void {
    this.#search = undefined
  }

  #leave(): void {
    const before = this.#panel
    if (before instanceof TopicPanel && before.edit !== undefined) this.#edited.set(before.path, before)
    if (before instanceof ChangesPanel) before.pause()
    if (before instanceof SearchPanel) before.leave()
  }

  /** After an outage, changes need not wait for their own next attempt. */
  reconnect(): void {
    if (this.#panel instanceof ChangesPanel) this.#panel.reconnect()
  }

  /** A background refresh; undefined if it would be of no use. */
  get refreshable(): Refreshable | undefined {
    const panel = this.#panel
    if (panel === undefined || panel instanceof ChangesPanel) return undefined
    if (panel instanceof SearchPanel && panel.isRefused) return undefined
    const key = panel instanceof TopicPanel ? `topic ${panel.path}` : `page ${panel.number} of ${panel.selector}`
    // A page that has just arrived need not be fetched again if it is the same.
    const arrival = this.#arrival
    return { key, refresh: () => arrival.then(() => panel.refresh(true)) }
  }

  /** @param children of the shown topic; undefined for none */
  view(children: TemplateResult | undefined): TemplateResult {
    const [panel, context] = [this.#panel, this.context]
    if (panel instanceof TopicPanel) {
      const remove = () =>
        this.dialogs.open((close) => RemoveDialog.ofPath(panel.path, panel.item !== null, context, close))
      return topicView(panel, context, children, remove)
    }
    if (panel instanceof ChangesPanel) return changesView(panel)
    if (panel instanceof SearchPanel) {
      const remove = () => this.dialogs.open((close) => RemoveDialog.ofSelector(panel.selector, context, close))
      return searchView(panel, context, remove)
    }
    if (!may(context.session.key, 'fetch')) return html``
    return html`<p class="panel quiet">Choose a topic, or search.</p>`
  }
}
