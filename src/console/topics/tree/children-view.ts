/** The view of the children of the topic or branch that is shown, as far as the tree has listed them. */

import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { descendants } from '../../../client/index.js'
import { addressOfPath, addressOfSelector } from '../address.js'
import { visible } from '../value-text.js'
import type { Child } from './children.js'
import { inOrder } from './name-order.js'
import { countText, moreButton, type TreeLook } from './tree-view.js'

/** @param path of something that has children */
export function childrenView(path: string, look: TreeLook): TemplateResult {
  const { tree, order, actions } = look
  const level = tree.level(path)
  return html`
    <h3>Children${level === undefined ? nothing : html` <span class="quiet">(${countText(level)})</span>`}</h3>
    ${
      level === undefined
        ? html`<p><button @click=${() => actions.open(path)}>List the children</button></p>`
        : html`<ul class="children">${repeat(inOrder(level.children, order), (child) => child.path, childView)}</ul>
          ${moreButton(level, look)}`
    }
    <p><a href=${addressOfSelector(descendants(path))}>Everything below, with values</a></p>
  `
}

function childView({ path, name, isTopic, hasChildren }: Child): TemplateResult {
  return html`<li><a class="exact ${isTopic ? '' : 'branch'}" href=${addressOfPath(path)}>${visible(name)}${hasChildren ? '/' : ''}</a></li>`
}
