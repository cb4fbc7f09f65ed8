/**
 * Anchors at the outer ends of a pattern. Every pattern must match as a whole, so a leading `^` and a trailing `$` have no
 * effect. If a selector ends with `/` or `//`, more of a path may follow the match. A `$` left in the pattern would then wrongly
 * mean the end of that path.
 */
import { type Node, sequenceNode } from './node.js'

export interface Syntax {
  readonly node: Node
  /** The pattern's text with any open `\Q` closed, so that more text can be appended. */
  readonly source: string
}

type End = Extract<Node, { readonly kind: 'end' }>

/** The same pattern without the anchors that have no effect. Its text keeps a leading `^`. */
export function withoutOuterAnchors({ node, source }: Syntax): Syntax {
  const ends: End[] = []
  const inner = withoutEnds(withoutStart(node), ends)
  let text = source
  for (const { from, to } of ends.toSorted((a, b) => b.from - a.from))
    text = `${text.slice(0, from)}(?:)${text.slice(to)}`
  return { node: inner, source: text }
}

/** An anchor in the pattern that matches only at the end of the text, if there is one. */
export function endIn(node: Node): End | undefined {
  switch (node.kind) {
    case 'end':
      return node.ofLines ? undefined : node
    case 'repeat':
      return endIn(node.node)
    case 'sequence':
    case 'either': {
      for (const part of node.nodes) {
        const end = endIn(part)
        if (end !== undefined) return end
      }
      return undefined
    }
    default:
      return undefined
  }
}

/** True for a plain sequence of characters, classes and anchors, in which nothing can match after an end. */
export function isPlain(node: Node): boolean {
  return node.kind === 'sequence' && node.nodes.every(({ kind }) => !['sequence', 'either', 'repeat'].includes(kind))
}

function withoutStart(node: Node): Node {
  if (node.kind === 'start') return nothing
  if (node.kind === 'either') return { ...node, nodes: node.nodes.map(withoutStart) }
  if (node.kind !== 'sequence') return node
  const [first, ...rest] = node.nodes
  const inner = first && withoutStart(first)
  return { ...node, nodes: inner === undefined || inner === nothing ? rest : [inner, ...rest] }
}

/** @param ends receives the removed anchors */
function withoutEnds(node: Node, ends: End[]): Node {
  if (node.kind === 'end') {
    ends.push(node)
    return nothing
  }
  if (node.kind === 'either') return { ...node, nodes: node.nodes.map((part) => withoutEnds(part, ends)) }
  if (node.kind === 'repeat' && node.max === 1) return { ...node, node: withoutEnds(node.node, ends) }
  if (node.kind !== 'sequence') return node
  const nodes = [...node.nodes]
  for (let last = nodes.pop(); last !== undefined; last = nodes.pop()) {
    const inner = withoutEnds(last, ends)
    if (inner !== nothing) return { ...node, nodes: [...nodes, inner] }
  }
  return nothing
}

const nothing: Node = sequenceNode([])
