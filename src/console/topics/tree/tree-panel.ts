/** The tree beside what is shown: its levels as someone opens them, kept fresh, and why that failed. */
import { html, nothing, type TemplateResult } from '../../vendor/lit-html.js'
import { type Context, describeFailure, isBeyondRate } from '../context.js'
import { describeChild, listChildren } from './children.js'
import { Tree } from './tree.js'
import { treeView } from './tree-view.js'

export class TreePanel {
  readonly #tree: Tree
  /** Why someone's last step in the tree failed; and the last refresh. */
  #stepProblem = ''
  #liveProblem = ''

  constructor(private readonly context: Context) {
    const { client, key } = context.session
    this.#tree = new Tree(
      (parent, after) => listChildren(client, key.pageSizeMax, parent, after),
      (path) => describeChild(client, path),
    )
  }

  start(): void {
    void this.#change(this.#tree.open(''))
  }

  /** Whether anything is known below a path. */
  hasBelow(path: string): boolean {
    return this.#tree.hasBelow(path)
  }

  /** Opens everything above a path, and scrolls to it. */
  async reveal(path: string): Promise<void> {
    await this.#change(this.#tree.reveal(path))
    setTimeout(scrollToShown)
  }

  /** @param shown the path of the topic that is shown beside it */
  view(shown: string | undefined): TemplateResult {
    const problem = this.#stepProblem || this.#liveProblem
    return html`
      ${problem === '' ? nothing : html`<p class="bad" role="alert">${problem}</p>`}
      ${treeView(this.#tree, shown, {
        open: (parent) => void this.#change(this.#tree.open(parent)),
        close: (parent) => {
          this.#tree.close(parent)
          this.context.changed()
        },
        more: (parent) => void this.#change(this.#tree.more(parent)),
      })}
    `
  }

  /** What keeps it fresh, each by one request. They throw a TopicdError for a refresh beyond the key's rate. */
  refreshes(): readonly (() => Promise<void>)[] {
    return this.#tree.openParents().map((parent) => () => this.#refreshLevel(parent))
  }

  async #refreshLevel(parent: string): Promise<void> {
    try {
      await this.#tree.refresh(parent)
      this.#liveProblem = ''
      this.#stepProblem = ''
    } catch (error) {
      if (isBeyondRate(error)) throw error
      this.#liveProblem = describeFailure(error, this.context)
    }
    this.context.changed()
  }

  /** A step that someone asked for. */
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

/** Within the tree alone: what is beside it stays where it is. */
function scrollToShown(): void {
  const row = document.querySelector('nav [aria-current="true"]')
  const nav = row?.closest('nav')
  if (!row || !nav) return
  const [inner, outer] = [row.getBoundingClientRect(), nav.getBoundingClientRect()]
  if (inner.top < outer.top || inner.bottom > outer.bottom) nav.scrollTop += inner.top - outer.top - outer.height / 2
}
