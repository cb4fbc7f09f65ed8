/** The view of the tree: nested lists. An element stays with its path, and so does the focus when others change. */

import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { addressOfPath } from '../address.js'
import { visible } from '../value-text.js'
import type { Child } from './children.js'
import { inOrder, type NameOrder } from './name-order.js'
import type { Level, Tree } from './tree.js'

interface TreeActions {
  readonly open: (parent: string) => void
  readonly close: (parent: string) => void
  readonly more: (parent: string) => void
}

export interface TreeLook {
  readonly tree: Tree
  readonly order: NameOrder
  readonly actions: TreeActions
  /** The path of the shown topic. */
  readonly shown: string | undefined
}

/** @param empty the text for an empty tree */
export function treeView(look: TreeLook, empty: string): TemplateResult {
  const top = look.tree.level('')
  if (top === undefined) return html`<p class="quiet">Listing…</p>`
  if (top.children.length === 0) return html`<p class="quiet">${empty}</p>`
  return levelView(look, top)
}

function levelView(look: TreeLook, level: Level): TemplateResult {
  return html`
    <ul class="tree">
      ${repeat(
        inOrder(level.children, look.order),
        ({ path }) => path,
        (child) => childView(look, child),
      )}
      ${level.after === undefined ? nothing : html`<li>${moreButton(level, look)}</li>`}
      ${level.pinned === undefined ? nothing : childView(look, level.pinned)}
    </ul>
  `
}

export function moreButton(level: Level, { order, actions }: TreeLook): TemplateResult | typeof nothing {
  const { parent, children, after } = level
  if (after === undefined) return nothing
  const caveat = order === 'natural' ? '; more may belong between them' : ''
  return html`<button class="plain" @click=${() => actions.more(parent)}>
    More… <span class="quiet">${children.length} listed${caveat}</span></button>`
}

function childView(look: TreeLook, child: Child): TemplateResult {
  const { tree, shown, actions } = look
  const { path, name, hasChildren, isTopic } = child
  const level = hasChildren ? tree.level(path) : undefined
  const isOpen = level !== undefined
  const toggle = () => (isOpen ? actions.close(path) : actions.open(path))
  // Its address may be the current one, and then nothing else would open it.
  const onClick = () => hasChildren && !isOpen && actions.open(path)
  return html`
    <li>
      ${
        hasChildren
          ? html`<button class="toggle" aria-expanded=${isOpen} aria-label="Below ${visible(name)}" @click=${toggle}>${isOpen ? '−' : '+'}</button>`
          : html`<span class="toggle"></span>`
      }
      <a class="exact ${isTopic ? '' : 'branch'}" href=${addressOfPath(path)} aria-current=${path === shown} aria-label=${isTopic ? nothing : `${visible(name)}, no topic`} @click=${onClick}>${visible(name)}</a>
      ${isOpen ? html`<span class="quiet">(${countText(level)})</span>${levelView(look, level)}` : nothing}
    </li>
  `
}

/** The number of children as far as it is known without a request. */
export function countText({ children, after }: Level): string {
  return after === undefined ? String(children.length) : `${children.length}+`
}
