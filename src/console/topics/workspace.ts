/** The view of a user with a key: the box for a search, the tree, the panel that the address names, and dialogs. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { addressOfPath, addressOfSelector, placeAt } from './address.js'
import type { Context, NewTopic } from './context.js'
import { curlCommand } from './curl.js'
import { CommandDialog } from './dialogs/command-dialog.js'
import { CreateDialog } from './dialogs/create-dialog.js'
import { Dialogs } from './dialogs/dialogs.js'
import type { Drawing } from './drawing.js'
import { type Refreshable, Refresher } from './refresher.js'
import { searchBox } from './search/search-box.js'
import { selectorOfWords } from './search/words.js'
import { may, type Session } from './session.js'
import { ShownPanel } from './shown-panel.js'
import type { Edit } from './topic-panel.js'
import { parentOf } from './tree/tree.js'
import { TreePanel } from './tree/tree-panel.js'
import { timeText, visible } from './value-text.js'

const everything = '?.*//'

export class Workspace {
  readonly dialogs: Dialogs
  readonly #context: Context
  readonly #tree: TreePanel
  readonly #shown: ShownPanel
  readonly #refresher: Refresher
  #note = ''
  #isNoteNew = false
  /** The last input of the box for a search. */
  #searched = { words: '', selector: '' }
  #isAddressWrong = false

  /** @param signOut ends the session if the service no longer knows the key @param interrupted edits by path */
  constructor(
    session: Session,
    drawing: Drawing,
    signOut: (reason: string) => void,
    interrupted: ReadonlyMap<string, Edit>,
  ) {
    this.dialogs = new Dialogs(drawing.draw)
    this.#context = {
      session,
      changed: drawing.draw,
      show: (path) => this.#goTo(addressOfPath(path)),
      outageMs: () => this.#refresher.outageMs,
      listsChanged: () => void this.#refreshLists(),
      afterDraw: drawing.afterDraw,
      focusLater: drawing.focusLater,
      note: (text) => {
        this.#note = text
        this.#isNoteNew = true
      },
      showCommand: (route, body) => {
        const command = curlCommand(session.base, route, body)
        this.dialogs.open((close) => new CommandDialog(command, drawing.draw, close))
      },
      create: (path, as) => this.#create(path, as),
      signOut,
    }
    this.#tree = new TreePanel(this.#context)
    this.#shown = new ShownPanel(this.#context, this.dialogs, interrupted)
    // Only whether something changes matters, so one short result is enough.
    const watched = { since: 'now', type: 'any', size: 1, with_values: false } as const
    this.#refresher = new Refresher(
      () => this.#refreshable(),
      (signal) => session.client.changes(everything, { ...watched, signal }),
      () => {
        if (this.#refresher.outageMs === undefined) this.#shown.reconnect()
        drawing.draw()
      },
    )
  }

  start(): void {
    addEventListener('hashchange', this.#followAddress)
    addEventListener('beforeunload', this.#keepEdits)
    if (!may(this.#context.session.key, 'fetch')) return
    this.#goToSubtree()
    this.#followAddress()
    this.#tree.start()
    this.#refresher.start()
  }

  /** A key of one subtree starts there, unless the address says otherwise. */
  #goToSubtree(): void {
    const [only, ...others] = this.#context.session.key.under
    if (only !== undefined && others.length === 0 && placeAt(location.hash) === 'nothing')
      history.replaceState(null, '', addressOfPath(only))
  }

  stop(): void {
    removeEventListener('hashchange', this.#followAddress)
    removeEventListener('beforeunload', this.#keepEdits)
    this.#refresher.stop()
    this.#shown.showNothing()
    this.dialogs.end()
  }

  unsaved(): ReadonlyMap<string, Edit> {
    return this.#shown.unsaved()
  }

  get title(): string | undefined {
    return this.#shown.title
  }

  view(): TemplateResult {
    const { key } = this.#context.session
    const mayFetch = may(key, 'fetch')
    const { path } = this.#shown
    const { outageMs } = this.#refresher
    return html`
      <main class="workspace">
        ${outageMs === undefined ? nothing : outageView(outageMs)}
        <div class="side">
          ${mayFetch ? searchBox(this.#searched, this.#search) : nothing}
          <nav class="panel" aria-label="Topics">
            <p class="row">
              <span class="title">Topics</span>
              ${may(key, 'add') ? html`<button @click=${() => this.#create()}>Create…</button>` : nothing}
              ${mayFetch ? this.#tree.orderChoice() : nothing}
            </p>
            <p role="status" class="good">${this.#note}</p>
            ${this.#shown.leftEdits().map((left) => html`<p class="quiet">Not saved: <a class="exact" href=${addressOfPath(left)}>${visible(left)}</a></p>`)}
            ${mayFetch ? this.#tree.view(path) : html`<p class="quiet">This API key may not fetch, so topics are not listed.</p>`}
          </nav>
        </div>
        <div class="shown">${
          this.#isAddressWrong
            ? html`<p class="panel">This URL names no topic: a path has no empty segments.</p>`
            : this.#shown.view(path === undefined ? undefined : this.#tree.childrenView(path))
        }</div>
      </main>
    `
  }

  /** Shows the first page of the matches. */
  readonly #search = {
    findWords: (words: string): void => {
      const selector = selectorOfWords(words)
      if (selector === undefined) return
      this.#searched = { words, selector }
      this.#search.find(selector)
    },
    find: (selector: string): void => {
      this.#shown.forgetSearch()
      this.#goTo(addressOfSelector(selector))
    },
  }

  #goTo(address: string): void {
    if (location.hash === address) this.#followAddress()
    else location.hash = address
  }

  readonly #followAddress = (): void => {
    // A removal is about what was shown when it was asked for. A new topic has its own path.
    this.dialogs.leave()
    const place = placeAt(location.hash)
    this.#isAddressWrong = place === 'wrong'
    if (typeof place === 'string') this.#shown.showNothing()
    else if ('selector' in place) {
      const { selector } = place
      if (selector !== this.#searched.selector) this.#searched = { words: '', selector }
      if (place.isOfChanges) this.#shown.showChanges(selector)
      else this.#shown.showMatches(selector)
    } else {
      this.#shown.showTopic(place.path)
      void this.#tree.reveal(place.path)
    }
    // What was done may itself have led here.
    if (!this.#isNoteNew) this.#note = ''
    this.#isNoteNew = false
    this.#context.changed()
  }

  /** The browser asks before it closes a page with an edit. */
  readonly #keepEdits = (event: BeforeUnloadEvent): void => {
    if (this.dialogs.isAnyWritten || this.unsaved().size > 0) event.preventDefault()
  }

  #create(path = this.#newPath(), as?: NewTopic): void {
    this.dialogs.open((close) => new CreateDialog(path, as, this.#context, close))
  }

  /** The branch that is shown, or that of the topic that is shown. */
  #newPath(): string {
    const { key } = this.#context.session
    const { path, isAbsent } = this.#shown
    const hasBelow = path !== undefined && this.#tree.hasBelow(path)
    if (path !== undefined && isAbsent && !hasBelow && may(key, 'add', path)) return path
    const near = path === undefined ? this.#tree.lastOpened : hasBelow ? path : parentOf(path)
    const branch = may(key, 'add', near) ? near : (key.under[0] ?? '')
    return branch === '' ? '' : `${branch}/`
  }

  /** A dialog's own requests come first, because a key may have a rate. */
  #refreshable(): readonly Refreshable[] {
    return this.dialogs.isAnyOpen ? [] : this.#onScreen()
  }

  #onScreen(): readonly Refreshable[] {
    const { refreshable } = this.#shown
    return [...(refreshable ? [refreshable] : []), ...this.#tree.refreshables()]
  }

  /** Immediately, one after the other, so that the user sees a created or removed topic. */
  async #refreshLists(): Promise<void> {
    for (const { refresh } of this.#onScreen()) await refresh().catch(() => {})
  }
}

/** Above everything, since all of it may be out of date. */
function outageView(sinceMs: number): TemplateResult {
  const since = new Date(sinceMs).toISOString()
  return html`<p class="notice outage" role="alert">Not connected since <time datetime=${since}>${timeText(since)}</time>, retrying</p>`
}
