/**
 * The tree next to the panel, with the levels that the user has opened. It is a single tab stop; arrow keys move within it, and
 * open and close branches, as in the tree pattern of the W3C's APG.
 */
import { computed, effect, signal, untracked } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { guard } from 'lit-html/directives/guard.js'
import { parentOf } from '../../../client/child.js'
import type { Child } from '../../../client/index.js'
import { addressOfPath } from '../address.js'
import type { Context } from '../context.js'
import { afterDraw, byPath } from '../drawing.js'
import { alertView } from '../failures.js'
import { Task } from '../task.js'
import { visible } from '../value-text.js'

/** Maximum number of a restricted key's subtrees that are opened initially; each costs a few requests. */
const subtreesOpenedMax = 5

export class TreePanel {
  readonly #task = new Task()
  /** The path of the shown topic, if any. */
  readonly shown = signal<string | undefined>(undefined)
  readonly #focused = signal('')
  readonly #expanded = signal<ReadonlySet<string>>(new Set())
  /** The path of the item that the Tab key reaches. */
  readonly #current = computed(() => {
    const path = this.#focused.value
    return this.#isDrawn(path) ? path : this.context.names.children('')?.[0]?.path
  })

  constructor(private readonly context: Context) {}

  /** Opens a restricted key's subtrees, because nothing else is visible to it. */
  start(signal: AbortSignal): void {
    signal.addEventListener('abort', this.#openMissing())
    void this.#task.attempt(this.context, async () => {
      await this.context.names.tree.ready
      for (const subtree of this.context.session.key.under.slice(0, subtreesOpenedMax)) await this.#openAt(subtree)
    })
  }

  /** Reopens expanded branches that were briefly empty, or whose listing failed. */
  #openMissing(): () => void {
    const { names } = this.context
    let wasMissing = true
    return effect(() => {
      const missing = [...this.#expanded.value].filter(
        (path) => names.child(path)?.hasChildren === true && names.children(path) === undefined,
      )
      const isMissing = missing.length > 0 || names.children('') === undefined
      untracked(() => {
        if (wasMissing && !isMissing) this.#task.problem.value = ''
        wasMissing = isMissing
        for (const path of missing) void this.#task.attempt(this.context, () => names.tree.open(path))
      })
    })
  }

  /** Opens a path and all levels above it, and scrolls to the path. */
  async reveal(path: string): Promise<void> {
    this.#focused.value = path
    await this.#task.attempt(this.context, () => this.#openAt(path))
    afterDraw(scrollToShown)
  }

  async #openAt(path: string): Promise<void> {
    await this.context.names.reveal(path)
    const above = [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))
    this.#expanded.value = new Set([...this.#expanded.peek(), ...above, path])
  }

  /** The most recently expanded branch, or the empty path. */
  get lastExpanded(): string {
    return [...this.#expanded.peek()].filter((path) => this.context.names.hasBelow(path)).at(-1) ?? ''
  }

  #isDrawn(path: string): boolean {
    const parent = parentOf(path)
    const isThere = this.context.names.child(path) !== undefined
    return isThere && (parent === '' || (this.#expanded.value.has(parent) && this.#isDrawn(parent)))
  }

  view(): TemplateResult {
    const { names } = this.context
    const top = names.children('')
    // Redrawn only if one of these has changed, because the tree may have hundreds of items.
    const read = [names.version.value, this.#expanded.value, this.#current.value, this.shown.value]
    return html`
      ${alertView(this.#task.problem.value)}
      ${top === undefined ? html`<p class="quiet">Listing…</p>` : nothing}
      ${top?.length === 0 ? html`<p class="quiet">There are no topics here yet.</p>` : nothing}
      ${top === undefined || top.length === 0 ? nothing : html`<ul class="tree" role="tree" aria-label="Topics" @keydown=${this.#onKey}>${guard(read, () => this.#levelView('', top))}</ul>`}
    `
  }

  #levelView(parent: string, children: readonly Child[]): unknown {
    const { names } = this.context
    const more = () => this.#task.attempt(this.context, () => names.tree.more(parent))
    return [
      byPath(children, (child) => this.#childView(child)),
      names.listedTo(parent) === undefined
        ? nothing
        : html`<li role="none"><a role="treeitem" tabindex="-1" class="quiet" @click=${more}>More… <span>${children.length} listed</span></a></li>`,
    ]
  }

  #childView({ path, name, type, hasChildren }: Child): TemplateResult {
    const { names } = this.context
    const children = hasChildren && this.#expanded.value.has(path) ? names.children(path) : undefined
    const isOpen = children !== undefined
    const toggle = (event: Event) => {
      event.preventDefault()
      this.#toggle(path, this.#expanded.peek().has(path))
    }
    return html`
      <li role="none">
        <a role="treeitem" class="exact ${type === undefined ? 'branch' : ''}" href=${addressOfPath(path)} data-path=${path} tabindex=${path === this.#current.value ? 0 : -1}
          aria-expanded=${hasChildren ? isOpen : nothing} aria-current=${path === this.shown.value ? 'true' : nothing} @focus=${() => (this.#focused.value = path)}>
          <span class=${hasChildren ? 'toggle' : 'toggle none'} aria-hidden="true" @click=${hasChildren ? toggle : nothing}></span><span class="name">${visible(name)}</span>${isOpen ? html` <span class="quiet count" aria-hidden="true">${children.length}${names.listedTo(path) === undefined ? '' : '+'}</span>` : nothing}</a>
        ${isOpen ? html`<ul role="group">${this.#levelView(path, children)}</ul>` : nothing}
      </li>
    `
  }

  #toggle(path: string, isOpen: boolean): void {
    const others = [...this.#expanded.peek()].filter((other) => other !== path)
    this.#expanded.value = new Set(isOpen ? others : [...others, path])
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const item = event.target instanceof Element ? event.target.closest<HTMLElement>('[role=treeitem]') : null
    if (item === null || event.ctrlKey || event.altKey || event.metaKey) return
    const items = [...document.querySelectorAll<HTMLElement>('.tree [role=treeitem]')]
    const at = items.indexOf(item)
    const path = item.dataset.path ?? ''
    const expanded = item.getAttribute('aria-expanded')
    const steps: Readonly<Record<string, (() => unknown) | undefined>> = {
      ArrowDown: () => items[at + 1]?.focus(),
      ArrowUp: () => items[at - 1]?.focus(),
      Home: () => items[0]?.focus(),
      End: () => items.at(-1)?.focus(),
      Enter: item.hasAttribute('href') ? undefined : () => item.click(),
      ArrowRight: () =>
        expanded === 'false' ? this.#toggle(path, false) : expanded === 'true' && items[at + 1]?.focus(),
      ArrowLeft: () =>
        expanded === 'true'
          ? this.#toggle(path, true)
          : items.find(({ dataset }) => dataset.path === parentOf(path))?.focus(),
    }
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    step()
  }
}

/** Scrolls only the tree, not the rest of the page. */
function scrollToShown(): void {
  const row = document.querySelector('nav [aria-current="true"]')
  const nav = row?.closest('nav')
  if (!row || !nav) return
  const [inner, outer] = [row.getBoundingClientRect(), nav.getBoundingClientRect()]
  if (inner.top < outer.top || inner.bottom > outer.bottom) nav.scrollTop += inner.top - outer.top - outer.height / 2
}
