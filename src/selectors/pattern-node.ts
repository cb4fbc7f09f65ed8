/**
 * The tree of a parsed pattern, and the sizes of its nodes. Nothing here depends on an engine or a limit.
 */
import type { Ranges } from './character-classes.js'

/**
 * A part of a pattern; `size` is about the number of instructions that an engine needs for it. A class without ranges
 * is one that only the engine knows in full: a Unicode class, or characters under case folding.
 */
export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly size: number }
  | { readonly kind: 'any'; readonly size: number }
  | { readonly kind: 'class'; readonly ranges: Ranges | undefined; readonly size: number }
  | { readonly kind: 'start' | 'end' | 'boundary'; readonly size: number }
  | { readonly kind: 'sequence' | 'either'; readonly nodes: readonly Node[]; readonly size: number }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number; readonly size: number }

export const unknownClass: Node = { kind: 'class', ranges: undefined, size: 1 }

export function classNode(ranges: Ranges | undefined): Node {
  return ranges === undefined ? unknownClass : { kind: 'class', ranges, size: 1 }
}

/** The nodes one after the other. */
export function sequenceNode(nodes: readonly Node[]): Node {
  return onlyNode(nodes) ?? { kind: 'sequence', nodes, size: totalSize(nodes) }
}

/** Any one of the nodes. */
export function eitherNode(nodes: readonly Node[]): Node {
  return onlyNode(nodes) ?? { kind: 'either', nodes, size: totalSize(nodes) + nodes.length - 1 }
}

/** @param max may be Infinity */
export function repeatNode(node: Node, min: number, max: number): Node {
  const times = max === Infinity ? Math.max(min, 1) : max
  return { kind: 'repeat', node, min, max, size: Math.max(1, times) * Math.max(1, node.size) + 1 }
}

function onlyNode(nodes: readonly Node[]): Node | undefined {
  return nodes.length === 1 ? nodes[0] : undefined
}

function totalSize(nodes: readonly Node[]): number {
  let size = 0
  for (const node of nodes) size += node.size
  return size
}
