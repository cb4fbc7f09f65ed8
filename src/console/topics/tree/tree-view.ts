/**
 * How the tree looks: nested lists, in which each child is a link, beside a button that opens what is below it. An element
 * stays with its path, so that the keyboard's focus does when others come and go.
 */

import { repeat } from '../../vendor/directives/repeat.js'
import { html, nothing, type TemplateResult } from '../../vendor/lit-html.js'
import { addressOfPath } from '../address.js'
import { visible } from '../value-text.js'
import type { Child } from './children.js'
import type { Level, Tree } from './tree.js'

interface TreeActions {
  readonly open: (parent: string) => void
  readonly close: (parent: string) => void
  readonly more: (parent: string) => void
}

/** @param shown the path of the topic that is shown beside the tree */
export function treeView(tree: Tree, shown: string | undefined, actions: TreeActions): TemplateResult {
  const top = tree.level('')
  if (top === undefined) return html`<p class="quiet">Listing…</p>`
  if (top.children.length === 0) return html`<p class="quiet">There are no topics here yet.</p>`
  return levelView(tree, top, shown, actions)
}

function levelView(tree: Tree, level: Level, shown: string | undefined, actions: TreeActions): TemplateResult {
  return html`
    <ul class="tree">
      ${repeat(
        level.children,
        ({ path }) => path,
        (child) => childView(tree, child, shown, actions),
      )}
      ${
        level.after === undefined
          ? nothing
          : html`<li><button class="plain" @click=${() => actions.more(level.parent)}>
        More… <span class="quiet">${level.children.length} listed</span></button></li>`
      }
      ${level.apart === undefined ? nothing : childView(tree, level.apart, shown, actions)}
    </ul>
  `
}

function childView(tree: Tree, child: Child, shown: string | undefined, actions: TreeActions): TemplateResult {
  const { path, name, hasChildren, isTopic } = child
  const level = hasChildren ? tree.level(path) : undefined
  const isOpen = level !== undefined
  const toggle = () => (isOpen ? actions.close(path) : actions.open(path))
  return html`
    <li>
      ${
        hasChildren
          ? html`<button class="toggle" aria-expanded=${isOpen} aria-label="Below ${visible(name)}" @click=${toggle}>${isOpen ? '−' : '+'}</button>`
          : html`<span class="toggle"></span>`
      }
      <a class="exact ${isTopic ? '' : 'branch'}" href=${addressOfPath(path)} aria-current=${path === shown} aria-label=${isTopic ? nothing : `${visible(name)}, no topic`}>${visible(name)}</a>
      ${isOpen ? html`<span class="quiet">(${countText(level)})</span>${levelView(tree, level, shown, actions)}` : nothing}
    </li>
  `
}

/** How many children, as far as that is known without a request. */
function countText({ children, after }: Level): string {
  return after === undefined ? String(children.length) : `${children.length}+`
}
