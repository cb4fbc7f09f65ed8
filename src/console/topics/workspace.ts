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
import { Refresher } from './refresher.js'
import { RemoveDialog } from './remove-dialog.js'
import { SearchPanel } from './search-panel.js'
import { searchView, selectorBox } from './search-view.js'
import { may, type Session } from './session.js'
import { TopicPanel } from './topic-panel.js'
import { topicView } from './topic-view.js'
import { Tree } from './tree.js'
import { treeView } from './tree-view.js'

interface Dialog {
  view(): TemplateResult
}

export class Workspace {
  readonly #context: Context
  readonly #tree: Tree
  readonly #refresher: Refresher
  /** Why someone's last step in the tree failed; and the last refresh. */
  #treeProblem = ''
  #liveProblem = ''
  #note = ''
  #shown: TopicPanel | SearchPanel | undefined
  /** Panels with an edit, by path, until they are shown again. */
  readonly #edited = new Map<string, TopicPanel>()
  /** The last one is on top. */
  #dialogs: readonly Dialog[] = []

  /** @param draw draws the page again */
  constructor(session: Session, draw: () => void, signOut: (reason: string) => void) {
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
      },
      showCommand: (route, body) => {
        const command = curlCommand(session.base, route, body)
        this.#openDialog((close) => new CommandDialog(command, draw, close))
      },
      signOut,
    }
    this.#refresher = new Refresher(() => this.#refreshable())
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
  }

  /** Shows the topic at a path. */
  show(path: string): void {
    this.#goTo(`#${encodeURIComponent(path)}`)
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
    this.#dialogs = this.#dialogs.slice(0, -1)
    this.#context.changed()
  }

  view(): TemplateResult {
    const { key } = this.#context.session
    const mayFetch = may(key, 'fetch')
    const problem = this.#treeProblem || this.#liveProblem
    return html`
      <main class="workspace">
        <div class="side">
          ${mayFetch ? selectorBox((selector) => this.#goTo(`#?${encodeURIComponent(selector)}`)) : nothing}
          <nav class="panel" aria-label="Topics">
            <p class="row">
              <span class="title">Topics</span>
              ${may(key, 'add') ? html`<button @click=${() => this.#create()}>Create…</button>` : nothing}
            </p>
            <p role="status" class="good">${this.#note}</p>
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
      const remove = () => this.#openDialog((close) => RemoveDialog.ofPath(shown.path, context, close))
      return topicView(shown, context, remove)
    }
    if (shown instanceof SearchPanel) {
      const remove = () => this.#openDialog((close) => RemoveDialog.ofSelector(shown.selector, context, close))
      return searchView(shown, context, remove)
    }
    return html`<p class="panel quiet">Choose a topic, or write a selector.</p>`
  }

  readonly #followAddress = (): void => {
    const address = location.hash.slice(1)
    if (address.startsWith('?')) this.#search(decoded(address.slice(1)))
    else {
      const path = decoded(address).replace(/^\/|\/$/g, '')
      if (path === '' || path.includes('//')) this.#shown = undefined
      else this.#showTopic(path)
    }
    this.#note = ''
    this.#context.changed()
  }

  /** The browser asks before it closes a page with an edit. */
  readonly #keepEdits = (event: BeforeUnloadEvent): void => {
    const shown = this.#shown instanceof TopicPanel ? [this.#shown] : []
    if ([...this.#edited.values(), ...shown].some(({ edit }) => edit !== undefined)) event.preventDefault()
  }

  #showTopic(path: string): void {
    const before = this.#shown
    if (before instanceof TopicPanel && before.edit !== undefined) this.#edited.set(before.path, before)
    const panel = this.#edited.get(path) ?? new TopicPanel(path, this.#context)
    this.#edited.delete(path)
    this.#shown = panel
    const focus = focusLater('#topic-path')
    void panel.refresh().then(focus)
    void this.#changeTree(this.#tree.reveal(path))
  }

  #search(selector: string): void {
    const before = this.#shown
    if (before instanceof TopicPanel && before.edit !== undefined) this.#edited.set(before.path, before)
    const panel = new SearchPanel(selector, this.#context)
    this.#shown = panel
    const field = document.querySelector<HTMLInputElement>('#selector')
    if (field !== null) field.value = selector
    const focus = focusLater('#search-title')
    void panel.refresh().then(() => panel.problem === '' && focus())
  }

  #create(): void {
    const { under } = this.#context.session.key
    const [first] = under
    const near = this.#shown instanceof TopicPanel ? `${this.#shown.path}/` : ''
    const start = near !== '' || first === undefined ? near : `${first}/`
    this.#openDialog((close) => new CreateDialog(start, this.#context, close))
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
    } catch (error) {
      if (isBeyondRate(error)) throw error
      this.#liveProblem = describeFailure(error, this.#context)
    }
    this.#context.changed()
  }

  #refreshable(): readonly (() => Promise<void>)[] {
    const shown = this.#shown
    const levels = this.#tree.openParents().map((parent) => () => this.#refreshLevel(parent))
    if (shown === undefined || (shown instanceof SearchPanel && shown.isRefused)) return levels
    return [() => shown.refresh(true), ...levels]
  }

  /** At once, one after the other, so that who created or removed a topic sees it. */
  async #refreshLists(): Promise<void> {
    for (const refresh of this.#refreshable()) await refresh().catch(() => {})
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

/**
 * A heading takes the focus when what it heads has changed: else a screen reader would say nothing. Not from someone
 * who has gone on meanwhile.
 *
 * @returns gives the focus, if it is still where it is now
 */
function focusLater(selector: string): () => void {
  const origin = document.activeElement
  const written = textIn(origin)
  return () => {
    const active = document.activeElement
    const isUnmoved = active === origin && textIn(active) === written
    if (isUnmoved || active === document.body) document.querySelector<HTMLElement>(selector)?.focus()
  }
}

function textIn(element: Element | null): string {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
  return isField ? element.value : ''
}
