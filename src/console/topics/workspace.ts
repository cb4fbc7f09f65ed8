/**
 * What someone with a key sees: the box for a selector, the tree, beside it a topic or matches, and dialogs. What is
 * shown is also in the page's address, so that it can be linked and the browser's "back" works: `#PATH` or `#?SELECTOR`,
 * each as a URI component, in which a path has no `?`.
 */
import { html, nothing, type TemplateResult } from '../vendor/lit-html.js'
import { listChildren } from './children.js'
import { CommandDialog } from './command-dialog.js'
import { type Context, describeFailure, isBeyondRate } from './context.js'
import { CreateDialog } from './create-dialog.js'
import { curlCommand } from './curl.js'
import { focusLater } from './focus.js'
import { Refresher } from './refresher.js'
import { RemoveDialog } from './remove-dialog.js'
import { SearchPanel } from './search-panel.js'
import { searchView, selectorBox } from './search-view.js'
import { may, type Session } from './session.js'
import { type Edit, TopicPanel } from './topic-panel.js'
import { topicView } from './topic-view.js'
import { Tree } from './tree.js'
import { treeView } from './tree-view.js'
import { visible } from './value-text.js'

interface Dialog {
  view(): TemplateResult
  /** Called when it is closed, if that matters to it. */
  abandon?(): void
  /** Whether it may be closed now; asks someone who has written in it. */
  mayClose?(): boolean
}

export class Workspace {
  readonly #context: Context
  readonly #tree: Tree
  readonly #refresher: Refresher
  /** Why someone's last step in the tree failed; and the last refresh. */
  #treeProblem = ''
  #liveProblem = ''
  #note = ''
  #isNoteNew = false
  /** What the box for a selector was last given. */
  #selector = ''
  #shown: TopicPanel | SearchPanel | undefined
  /** The last search. */
  #search: SearchPanel | undefined
  /** Panels with an edit, by path, until they are shown again. */
  readonly #edited = new Map<string, TopicPanel>()
  /** The last one is on top. */
  #dialogs: readonly Dialog[] = []

  /**
   * @param draw draws the page again
   * @param signOut ends the session, since the service no longer knows the key
   * @param interrupted edits of an earlier session, by path
   */
  constructor(
    session: Session,
    draw: () => void,
    signOut: (reason: string) => void,
    interrupted: ReadonlyMap<string, Edit>,
  ) {
    const { client, key } = session
    this.#tree = new Tree((parent, after) => listChildren(client, key.pageSizeMax, parent, after))
    this.#context = {
      session,
      changed: draw,
      show: (path) => this.show(path),
      listsChanged: () => void this.#refreshLists(),
      // The page is drawn at the end of this turn.
      focus: (selector) => setTimeout(() => document.querySelector<HTMLElement>(selector)?.focus()),
      note: (text) => {
        this.#note = text
        this.#isNoteNew = true
      },
      showCommand: (route, body) => {
        const command = curlCommand(session.base, route, body)
        this.#openDialog((close) => new CommandDialog(command, draw, close))
      },
      create: (path, value) => this.#create(path, value),
      signOut,
    }
    this.#refresher = new Refresher(() => this.#refreshable())
    for (const [path, edit] of interrupted) {
      const panel = new TopicPanel(path, this.#context)
      panel.edit = edit
      this.#edited.set(path, panel)
    }
  }

  start(): void {
    addEventListener('hashchange', this.#followAddress)
    addEventListener('beforeunload', this.#keepEdits)
    if (!may(this.#context.session.key, 'fetch')) return
    this.#followAddress()
    void this.#changeTree(this.#tree.open(''))
    this.#refresher.start()
  }

  stop(): void {
    removeEventListener('hashchange', this.#followAddress)
    removeEventListener('beforeunload', this.#keepEdits)
    this.#refresher.stop()
    for (const dialog of this.#dialogs) dialog.abandon?.()
  }

  /** What is being edited, by path. */
  unsaved(): ReadonlyMap<string, Edit> {
    const shown = this.#shown instanceof TopicPanel ? [this.#shown] : []
    const edits = [...this.#edited.values(), ...shown].flatMap(({ path, edit }) =>
      edit === undefined ? [] : [[path, edit] as const],
    )
    return new Map(edits)
  }

  /** Shows the topic at a path. */
  show(path: string): void {
    this.#goTo(`#${encodeURIComponent(path)}`)
  }

  /** Shows the first page of what a selector matches. */
  #find(selector: string): void {
    this.#search = undefined
    this.#goTo(`#?${encodeURIComponent(selector)}`)
  }

  #goTo(address: string): void {
    if (location.hash === address) this.#followAddress()
    else location.hash = address
  }

  /** The dialog on top; undefined when there is none. */
  get dialog(): TemplateResult | undefined {
    return this.#dialogs.at(-1)?.view()
  }

  /** Closes the dialog on top, as the Escape key does. */
  closeTopDialog(): void {
    const top = this.#dialogs.at(-1)
    if (top === undefined || top.mayClose?.() === false) return
    top.abandon?.()
    this.#dialogs = this.#dialogs.slice(0, -1)
    this.#context.changed()
  }

  /** What is shown, for the title of the tab. */
  get title(): string | undefined {
    if (this.#shown instanceof SearchPanel) return visible(this.#shown.selector)
    return this.#shown && visible(this.#shown.path)
  }

  view(): TemplateResult {
    const { key } = this.#context.session
    const mayFetch = may(key, 'fetch')
    const problem = this.#treeProblem || this.#liveProblem
    return html`
      <main class="workspace">
        <div class="side">
          ${mayFetch ? selectorBox(this.#selector, (selector) => this.#find(selector)) : nothing}
          <nav class="panel" aria-label="Topics">
            <p class="row">
              <span class="title">Topics</span>
              ${may(key, 'add') ? html`<button @click=${() => this.#create()}>Create…</button>` : nothing}
            </p>
            <p role="status" class="good">${this.#note}</p>
            ${[...this.#edited.keys()].map((path) => html`<p class="quiet">Not saved: <button class="plain exact" @click=${() => this.show(path)}>${visible(path)}</button></p>`)}
            ${problem === '' ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
            ${mayFetch ? this.#treeView() : html`<p class="quiet">This API key may not fetch, so topics are not listed.</p>`}
          </nav>
        </div>
        <div class="shown">${this.#shownView()}</div>
      </main>
    `
  }

  #treeView(): TemplateResult {
    const shown = this.#shown instanceof TopicPanel ? this.#shown.path : undefined
    return treeView(this.#tree, shown, {
      show: (path) => this.show(path),
      open: (parent) => void this.#changeTree(this.#tree.open(parent)),
      close: (parent) => {
        this.#tree.close(parent)
        this.#context.changed()
      },
      more: (parent) => void this.#changeTree(this.#tree.more(parent)),
    })
  }

  #shownView(): TemplateResult {
    const shown = this.#shown
    const context = this.#context
    if (shown instanceof TopicPanel) {
      const remove = () =>
        this.#openDialog((close) => RemoveDialog.ofPath(shown.path, shown.item !== null, context, close))
      return topicView(shown, context, this.#tree.hasBelow(shown.path), remove)
    }
    if (shown instanceof SearchPanel) {
      const remove = () => this.#openDialog((close) => RemoveDialog.ofSelector(shown.selector, context, close))
      return searchView(shown, context, remove)
    }
    const isWrong = decoded(location.hash.slice(1)).includes('//')
    if (isWrong) return html`<p class="panel">This address names no topic: a path has no empty segments.</p>`
    if (!may(context.session.key, 'fetch')) return html``
    return html`<p class="panel quiet">Choose a topic, or write a selector.</p>`
  }

  readonly #followAddress = (): void => {
    // A removal is about what was shown when it was asked for. A new topic has its own path.
    for (const dialog of this.#dialogs) dialog.abandon?.()
    this.#dialogs = this.#dialogs.filter((dialog) => dialog instanceof CreateDialog)
    const address = location.hash.slice(1)
    if (address.startsWith('?')) this.#showMatches(decoded(address.slice(1)))
    else {
      const path = decoded(address).replace(/^\/|\/$/g, '')
      if (path === '' || path.includes('//')) this.#shown = undefined
      else this.#showTopic(path)
    }
    // What was done may itself have led here.
    if (!this.#isNoteNew) this.#note = ''
    this.#isNoteNew = false
    this.#context.changed()
  }

  /** The browser asks before it closes a page with an edit. */
  readonly #keepEdits = (event: BeforeUnloadEvent): void => {
    const isWritten = this.#dialogs.some((dialog) => dialog instanceof CreateDialog && dialog.isWritten)
    if (isWritten || this.unsaved().size > 0) event.preventDefault()
  }

  #showTopic(path: string): void {
    const before = this.#shown
    if (before instanceof TopicPanel && before.edit !== undefined) this.#edited.set(before.path, before)
    const panel = this.#edited.get(path) ?? new TopicPanel(path, this.#context)
    this.#edited.delete(path)
    this.#shown = panel
    const focus = focusLater()
    void panel.refresh().then(() => focus('#topic-path'))
    void this.#changeTree(this.#tree.reveal(path))
  }

  #showMatches(selector: string): void {
    const before = this.#shown
    if (before instanceof TopicPanel && before.edit !== undefined) this.#edited.set(before.path, before)
    // "Back" from a result leads to the page of results that it was on.
    const panel = this.#search?.selector === selector ? this.#search : new SearchPanel(selector, this.#context)
    this.#search = panel
    this.#shown = panel
    this.#selector = selector
    const focus = focusLater()
    void panel.refresh().then(() => panel.problem === '' && focus('#search-title'))
  }

  #create(path = this.#newPath(), value = ''): void {
    this.#openDialog((close) => new CreateDialog(path, value, this.#context, close))
  }

  /** What the path of a new topic may begin with: near what is shown. */
  #newPath(): string {
    const { key } = this.#context.session
    const [first] = key.under
    const shown = this.#shown instanceof TopicPanel ? this.#shown.path : undefined
    const near = shown !== undefined && may(key, 'add', shown) ? shown : first
    return near === undefined ? '' : `${near}/`
  }

  /** @param make makes a dialog, given what closes it, which returns whether it was still open */
  #openDialog(make: (close: () => boolean) => Dialog): void {
    const dialog = make(() => {
      const wasOpen = this.#dialogs.includes(dialog)
      this.#dialogs = this.#dialogs.filter((other) => other !== dialog)
      this.#context.changed()
      return wasOpen
    })
    this.#dialogs = [...this.#dialogs, dialog]
    this.#context.changed()
  }

  /** A step in the tree that someone asked for. */
  async #changeTree(change: Promise<void>): Promise<void> {
    try {
      await change
      this.#treeProblem = ''
    } catch (error) {
      this.#treeProblem = describeFailure(error, this.#context)
    }
    this.#context.changed()
  }

  /** @throws TopicdError for a refresh beyond the key's rate */
  async #refreshLevel(parent: string): Promise<void> {
    try {
      await this.#tree.refresh(parent)
      this.#liveProblem = ''
      this.#treeProblem = ''
    } catch (error) {
      if (isBeyondRate(error)) throw error
      this.#liveProblem = describeFailure(error, this.#context)
    }
    this.#context.changed()
  }

  /** What is refreshed now and then. A dialog's own requests come first, since a key may have a rate. */
  #refreshable(): readonly (() => Promise<void>)[] {
    return this.#dialogs.length > 0 ? [] : this.#onScreen()
  }

  #onScreen(): readonly (() => Promise<void>)[] {
    const shown = this.#shown
    const levels = this.#tree.openParents().map((parent) => () => this.#refreshLevel(parent))
    if (shown === undefined || (shown instanceof SearchPanel && shown.isRefused)) return levels
    return [() => shown.refresh(true), ...levels]
  }

  /** At once, one after the other, so that who created or removed a topic sees it. */
  async #refreshLists(): Promise<void> {
    for (const refresh of this.#onScreen()) await refresh().catch(() => {})
  }
}

/** @param text of an address, which someone may have mistyped */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
