/**
 * What someone with a key sees: the box for a selector, the tree, beside it a topic or matches, and one dialog at a
 * time. The topic that is shown is also in the page's address, so that it can be linked and the browser's "back" works.
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
  #treeProblem = ''
  #shown: TopicPanel | SearchPanel | undefined
  #dialogs: readonly Dialog[] = []

  /** @param draw draws the page again */
  constructor(session: Session, draw: () => void, signOut: (reason: string) => void) {
    const { client, key } = session
    this.#tree = new Tree((parent, after) => listChildren(client, key.pageSizeMax, parent, after))
    this.#context = {
      session,
      changed: draw,
      show: (path) => this.show(path),
      listsChanged: () => this.#refreshLists(),
      showCommand: (route, body) => {
        const command = curlCommand(session.base, route, body)
        this.#openDialog(new CommandDialog(command, draw, () => this.#closeDialog()))
      },
      signOut,
    }
    this.#refresher = new Refresher(() => this.#refreshable())
  }

  start(): void {
    this.#followAddress()
    addEventListener('hashchange', this.#followAddress)
    if (!may(this.#context.session.key, 'fetch')) return
    void this.#changeTree(this.#tree.open(''))
    this.#refresher.start()
  }

  stop(): void {
    removeEventListener('hashchange', this.#followAddress)
    this.#refresher.stop()
  }

  /** Shows the topic at a path. */
  show(path: string): void {
    const address = `#${encodeURIComponent(path)}`
    if (location.hash === address) this.#showTopic(path)
    else location.hash = address
  }

  /** The dialog on top; undefined when there is none. */
  get dialog(): TemplateResult | undefined {
    return this.#dialogs.at(-1)?.view()
  }

  /** Called when the browser has closed the dialog, by the Escape key. */
  closeDialogs(): void {
    this.#dialogs = []
    this.#context.changed()
  }

  view(): TemplateResult {
    const { key } = this.#context.session
    const mayFetch = may(key, 'fetch')
    return html`
      <main class="workspace">
        <div class="side">
          ${mayFetch ? selectorBox((selector) => this.#search(selector)) : nothing}
          <nav class="panel" aria-label="Topics">
            <p class="row">
              <span class="title">Topics</span>
              ${may(key, 'add') ? html`<button @click=${() => this.#create()}>Create…</button>` : nothing}
            </p>
            ${this.#treeProblem === '' ? nothing : html`<p class="bad" role="alert">${this.#treeProblem}</p>`}
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
      const remove = () => this.#openDialog(RemoveDialog.ofPath(shown.path, context, () => this.#closeDialog()))
      return topicView(shown, context, remove)
    }
    if (shown instanceof SearchPanel) {
      const remove = () => this.#openDialog(RemoveDialog.ofSelector(shown.selector, context, () => this.#closeDialog()))
      return searchView(shown, context, remove)
    }
    return html`<p class="panel quiet">Choose a topic, or write a selector.</p>`
  }

  readonly #followAddress = (): void => {
    const path = decodedPath(location.hash.slice(1))
    if (path !== '') this.#showTopic(path)
  }

  #showTopic(path: string): void {
    const panel = new TopicPanel(path, this.#context)
    this.#shown = panel
    void panel.refresh().then(() => focusOn('#topic-path'))
    void this.#changeTree(this.#tree.reveal(path))
    this.#context.changed()
  }

  #search(selector: string): void {
    const panel = new SearchPanel(selector, this.#context)
    this.#shown = panel
    const field = document.querySelector<HTMLInputElement>('#selector')
    if (field !== null) field.value = selector
    if (location.hash !== '') history.pushState(undefined, '', location.pathname + location.search)
    void panel.refresh().then(() => panel.problem === '' && focusOn('#search-title'))
    this.#context.changed()
  }

  #create(): void {
    const { under } = this.#context.session.key
    const [first] = under
    const near = this.#shown instanceof TopicPanel ? `${this.#shown.path}/` : ''
    const start = near !== '' || first === undefined ? near : `${first}/`
    this.#openDialog(new CreateDialog(start, this.#context, () => this.#closeDialog()))
  }

  #openDialog(dialog: Dialog): void {
    this.#dialogs = [...this.#dialogs, dialog]
    this.#context.changed()
  }

  #closeDialog(): void {
    this.#dialogs = this.#dialogs.slice(0, -1)
    this.#context.changed()
  }

  /** @param isLive whether nobody asked for it */
  async #changeTree(change: Promise<void>, isLive = false): Promise<void> {
    try {
      await change
      this.#treeProblem = ''
    } catch (error) {
      if (isLive && isBeyondRate(error)) return
      this.#treeProblem = describeFailure(error, this.#context)
    }
    this.#context.changed()
  }

  #refreshable(): readonly (() => Promise<void>)[] {
    const shown = this.#shown
    const levels = this.#tree.openParents().map((parent) => () => this.#changeTree(this.#tree.refresh(parent), true))
    if (shown === undefined || (shown instanceof SearchPanel && shown.isRefused)) return levels
    return [() => shown.refresh(true), ...levels]
  }

  /** At once, so that who created or removed a topic sees it. */
  #refreshLists(): void {
    void this.#shown?.refresh()
    for (const parent of this.#tree.openParents()) void this.#changeTree(this.#tree.refresh(parent))
  }
}

/** @param text of an address, which someone may have mistyped */
function decodedPath(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * A heading takes the focus when what it heads has changed: else a screen reader would say nothing. Not from someone
 * who has begun to write.
 */
function focusOn(selector: string): void {
  const active = document.activeElement
  const isWriting = active instanceof HTMLTextAreaElement || (active instanceof HTMLInputElement && active.value !== '')
  if (!isWriting) document.querySelector<HTMLElement>(selector)?.focus()
}
