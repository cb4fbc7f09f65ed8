/** The view for a signed-in user: the search box, the tree, the panel for the address, and dialogs. */
import { effect, type Signal, signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { parentOf } from '../../client/child.js'
import { TopicdError } from '../../client/index.js'
import { timeText } from '../shared/formats.js'
import { addressOfPath, addressOfSelector, placeAt } from './address.js'
import { ChangesPanel } from './changes-panel.js'
import type { Context, Panel } from './context.js'
import { Dialogs } from './dialogs/dialogs.js'
import { TopicDialog } from './dialogs/topic-dialog.js'
import { UploadDialog } from './dialogs/upload-dialog.js'
import { focusLater } from './drawing.js'
import { alertView, describeFailure } from './failures.js'
import { icon } from './icons.js'
import { KeysPanel } from './keys/keys-panel.js'
import { LiveItems } from './live/live-items.js'
import { Names } from './live/names.js'
import { OverviewPanel } from './overview-panel.js'
import { searchBox } from './search/search-box.js'
import { SearchPanel } from './search/search-panel.js'
import { may, type Session } from './session.js'
import { TopicPanel } from './topic/topic-panel.js'
import { TreePanel } from './tree/tree-panel.js'
import { visible } from './value-text.js'

export class Workspace implements Context {
  readonly dialogs = new Dialogs()
  readonly names: Names
  readonly items: LiveItems
  readonly #tree = new TreePanel(this)
  readonly #panel = signal<Panel | undefined>(undefined)
  readonly #note = signal('')
  #isNoteNew = false
  /** The reason why the values on the screen are no longer updated; empty while they are. */
  readonly #failure = signal('')
  /** The reason why the names are no longer updated, until the page is loaded again; empty while they are. */
  readonly #namesFailure = signal('')
  /** The last search, so that "back" from a result returns to the same page of results. */
  readonly #searched = signal<{ readonly text: string; readonly panel: SearchPanel } | undefined>(undefined)
  readonly #stopped = new AbortController()

  constructor(
    readonly session: Session,
    readonly edits: Context['edits'],
    readonly signOut: Context['signOut'],
  ) {
    const onFailure = (failure: Signal<string>) => (error: unknown) => (failure.value = describeFailure(error, this))
    this.names = new Names(session, this.#stopped.signal, onFailure(this.#namesFailure))
    this.items = new LiveItems(session.client, this.#stopped.signal, onFailure(this.#failure))
  }

  readonly show = (address: string): void => {
    if (location.hash === address) this.#followAddress()
    else location.hash = address
  }

  readonly note = (text: string): void => {
    this.#note.value = text
    this.#isNoteNew = true
  }

  start(): void {
    const { signal } = this.#stopped
    addEventListener('hashchange', this.#followAddress, { signal })
    addEventListener('beforeunload', this.#keepEdits, { signal })
    addEventListener('keydown', this.#onKey, { signal })
    const stopFollowing = effect(() => {
      const panel = this.#panel.value
      const paths = panel?.shownPaths === undefined ? [] : panel.shownPaths()
      if (paths !== undefined) this.items.show(paths)
    })
    signal.addEventListener('abort', stopFollowing)
    const { key } = this.session
    if (may(key, 'fetch')) {
      this.#goToSubtree()
      this.#tree.start(signal)
    }
    this.#followAddress()
  }

  /** If the key is limited to one subtree, starts there unless the address names another place. */
  #goToSubtree(): void {
    const [only, ...others] = this.session.key.under
    if (only !== undefined && others.length === 0 && placeAt(location.hash) === 'nothing')
      history.replaceState(null, '', addressOfPath(only))
  }

  stop(): void {
    this.#stopped.abort()
    this.#panel.value?.leave?.()
    this.dialogs.end()
    this.#forgetUnwritten()
  }

  #forgetUnwritten(): void {
    this.edits.value = new Map([...this.edits.peek()].filter(([, { isWritten }]) => isWritten))
  }

  get hasUnsaved(): boolean {
    return [...this.edits.peek().values()].some(({ isWritten }) => isWritten)
  }

  get title(): string | undefined {
    return this.#panel.value?.title
  }

  view(): TemplateResult {
    const outage = this.names.outage.value
    const mayFetch = may(this.session.key, 'fetch')
    return html`
      <main class="workspace">
        ${outage === undefined ? nothing : outageView(outage)}
        <div class="side">
          ${mayFetch ? searchBox(this.#searched.value?.text ?? '', (selector, text) => this.#search(selector, text)) : nothing}
          <nav class=${mayFetch ? 'panel' : nothing} aria-label="Topics">
            <p class="row">
              ${mayFetch ? html`<a class="title" href="#">Topics</a>` : nothing}
              ${this.#createButtons()}
            </p>
            ${this.#noteView()}
            ${mayFetch ? this.#tree.view() : html`<p>This API key has no fetch permission, so no topics are shown.</p>`}
          </nav>
        </div>
        <div class="shown">
          ${alertView(this.#namesFailure.value || this.#failure.value, 'panel bad')}
          ${this.#panel.value?.view()}
        </div>
      </main>
    `
  }

  #createButtons(): TemplateResult | typeof nothing {
    const { key } = this.session
    const { shown } = this.dialogs
    if (!may(key, 'add')) return nothing
    const upload = () => (shown.value = new UploadDialog(this))
    const create = () => (shown.value = new TopicDialog('create', this, this.#newPath()))
    return html`
      <button @click=${create}>${icon('add')}Create…</button>
      ${may(key, 'set') ? html`<button class="quiet-button" @click=${upload}>${icon('upload')}Upload…</button>` : nothing}`
  }

  #noteView(): TemplateResult {
    const left = [...this.edits.value.keys()].filter((path) => path !== this.#tree.shown.value)
    return html`
      <p role="status" class="good">${this.#note.value}</p>
      ${left.map((path) => html`<p class="quiet">Not saved: <a class="exact" href=${addressOfPath(path)}>${visible(path)}</a></p>`)}`
  }

  /** Shows the first page of the matches. */
  #search(selector: string, text: string): void {
    this.#searched.value = { text, panel: new SearchPanel(selector, this) }
    this.show(addressOfSelector(selector))
  }

  readonly #followAddress = (): void => {
    // Closes a dialog about the previous view, such as a removal, but not one that creates a topic.
    this.dialogs.leave()
    this.#forgetUnwritten()
    this.#panel.peek()?.leave?.()
    this.#failure.value = ''
    const panel = this.#panelAt(placeAt(location.hash))
    this.#panel.value = panel
    this.#tree.shown.value = panel instanceof TopicPanel ? panel.path : undefined
    // Keeps a new note: the action that it reports may have changed the address.
    if (!this.#isNoteNew) this.#note.value = ''
    this.#isNoteNew = false
  }

  #panelAt(place: ReturnType<typeof placeAt>): Panel | undefined {
    const { key } = this.session
    if (place === 'keys' && may(key, 'admin')) return new KeysPanel(this)
    if (!may(key, 'fetch')) return undefined
    if (place === 'wrong') return wrongPanel
    if (place === 'nothing' || place === 'keys') return new OverviewPanel(this)
    if ('path' in place) return this.#topicAt(place.path)
    const { selector, isOfChanges } = place
    if (isOfChanges) return new ChangesPanel(selector, this)
    const known = this.#searched.peek()
    const panel = known?.panel.selector === selector ? known.panel : new SearchPanel(selector, this)
    if (panel !== known?.panel) this.#searched.value = { text: selector, panel }
    panel.start()
    return panel
  }

  #topicAt(path: string): TopicPanel {
    const focus = focusLater()
    void this.#tree.reveal(path).then(() => focus('#topic-path'))
    return new TopicPanel(path, this)
  }

  /** Makes the browser ask for confirmation before it closes a page with an edit. */
  readonly #keepEdits = (event: BeforeUnloadEvent): void => {
    if (this.dialogs.isWritten || this.hasUnsaved) event.preventDefault()
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const isText = event.target instanceof Element && event.target.matches('input, textarea, select')
    const isOther = event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey
    if (isOther || isText || this.dialogs.shown.peek() !== undefined) return
    event.preventDefault()
    document.querySelector<HTMLInputElement>('#words')?.select()
  }

  /** The proposed path of a new topic: in the shown branch, or next to the shown topic. */
  #newPath(): string {
    const { session, names, items } = this
    const path = this.#tree.shown.peek()
    const hasBelow = path !== undefined && names.hasBelow(path)
    const isAbsent = path !== undefined && items.isLoaded(path) && items.get(path) === undefined
    if (path !== undefined && isAbsent && !hasBelow && may(session.key, 'add', path)) return path
    const near = path === undefined ? this.#tree.lastExpanded : hasBelow ? path : parentOf(path)
    const branch = may(session.key, 'add', near) ? near : (session.key.under[0] ?? '')
    return branch === '' ? '' : `${branch}/`
  }
}

const wrongPanel: Panel = {
  title: 'Topics',
  view: () => html`<p class="panel">This URL does not name a topic: a path cannot have empty segments.</p>`,
}

/** Shown above everything, because all of it may be out of date. */
function outageView({ sinceMs, error }: NonNullable<Context['names']['outage']['value']>): TemplateResult {
  const since = new Date(sinceMs).toISOString()
  const reason = error instanceof TopicdError ? ` (${describeFailure(error)})` : ''
  return html`<p class="notice outage" role="alert">Not connected since <time datetime=${since}>${timeText(since)}</time>, retrying${reason}</p>`
}
