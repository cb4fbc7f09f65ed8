/** The tree next to the panel: its levels as the user opens them, kept fresh, and why that failed. */
import { html, nothing, type TemplateResult } from 'lit-html'
import { type Context, describeFailure, isBeyondRate } from '../context.js'
import type { Refreshable } from '../refresher.js'
import { visible } from '../value-text.js'
import { describeChild, listChildren } from './children.js'
import { childrenView } from './children-view.js'
import { type NameOrder, storedOrder, storeOrder } from './name-order.js'
import { Tree } from './tree.js'
import { type TreeLook, treeView } from './tree-view.js'

/** Subtrees of a restricted key that are opened at the start; each costs a few requests. */
const subtreesOpenedMax = 5

export class TreePanel {
  readonly #tree: Tree
  /** The failures of the user's last step in the tree, and of the last refresh. */
  #stepProblem = ''
  #liveProblem = ''
  #order: NameOrder = storedOrder()

  constructor(private readonly context: Context) {
    const { client, key } = context.session
    this.#tree = new Tree(
      (parent, after) => listChildren(client, key.pageSizeMax, parent, after),
      (path) => describeChild(client, path),
    )
  }

  start(): void {
    void this.#change(this.#begin())
  }

  /** A restricted key sees nothing above its subtrees. */
  async #begin(): Promise<void> {
    await this.#tree.open('')
    for (const subtree of this.context.session.key.under.slice(0, subtreesOpenedMax)) await this.#openAt(subtree)
  }

  hasBelow(path: string): boolean {
    return this.#tree.hasBelow(path)
  }

  /** The last opened branch that is still open; the empty path for none. */
  get lastOpened(): string {
    return this.#tree.openParents().at(-1) ?? ''
  }

  /** Opens everything above a path and what is directly below it, and scrolls to it. */
  async reveal(path: string): Promise<void> {
    await this.#change(this.#openAt(path))
    this.context.afterDraw(scrollToShown)
  }

  async #openAt(path: string): Promise<void> {
    await this.#tree.reveal(path)
    this.context.changed()
    if (this.#tree.hasBelow(path) && this.#tree.level(path) === undefined) await this.#tree.open(path)
  }

  /** @param shown the path of the shown topic */
  view(shown: string | undefined): TemplateResult {
    const problem = this.#stepProblem || this.#liveProblem
    const { under } = this.context.session.key
    const empty =
      under.length === 0
        ? 'There are no topics here yet.'
        : `There are no topics below ${under.map(visible).join(', ')} yet.`
    return html`
      ${problem === '' ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
      ${treeView(this.#look(shown), empty)}
    `
  }

  /** Undefined if nothing is known below the path. */
  childrenView(path: string): TemplateResult | undefined {
    return this.hasBelow(path) ? childrenView(path, this.#look(path)) : undefined
  }

  orderChoice(): TemplateResult {
    const choose = (event: Event) => {
      this.#order = (event.target as HTMLSelectElement).value === 'natural' ? 'natural' : 'tree'
      storeOrder(this.#order)
      this.context.changed()
    }
    const option = (order: NameOrder, name: string) =>
      html`<option value=${order} ?selected=${this.#order === order}>${name}</option>`
    return html`
      <label for="order">Sort</label>
      <select id="order" @change=${choose}>${option('tree', 'as stored')}${option('natural', '2 before 10')}</select>`
  }

  #look(shown: string | undefined): TreeLook {
    const actions = {
      open: (parent: string) => void this.#change(this.#tree.open(parent)),
      close: (parent: string) => {
        this.#tree.close(parent)
        this.context.changed()
      },
      more: (parent: string) => void this.#change(this.#tree.more(parent)),
    }
    return { tree: this.#tree, order: this.#order, actions, shown }
  }

  refreshables(): readonly Refreshable[] {
    return this.#tree.openParents().map((parent) => ({
      key: `below ${parent}`,
      refresh: () => this.#refreshLevel(parent),
    }))
  }

  async #refreshLevel(parent: string): Promise<void> {
    try {
      do await this.#tree.refresh(parent)
      while (this.#tree.isPartlyRefreshed(parent))
      this.#liveProblem = ''
      this.#stepProblem = ''
    } catch (error) {
      if (!isBeyondRate(error)) this.#liveProblem = describeFailure(error, this.context)
      throw error
    } finally {
      this.context.changed()
    }
  }

  /** A step that the user requested. */
  async #change(step: Promise<void>): Promise<void> {
    try {
      await step
      this.#stepProblem = ''
    } catch (error) {
      this.#stepProblem = describeFailure(error, this.context)
    }
    this.context.changed()
  }
}

/** Within the tree alone: everything next to it stays where it is. */
function scrollToShown(): void {
  const row = document.querySelector('nav [aria-current="true"]')
  const nav = row?.closest('nav')
  if (!row || !nav) return
  const [inner, outer] = [row.getBoundingClientRect(), nav.getBoundingClientRect()]
  if (inner.top < outer.top || inner.bottom > outer.bottom) nav.scrollTop += inner.top - outer.top - outer.height / 2
}
