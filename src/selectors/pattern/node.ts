/** The tree of a parsed pattern, and the sizes of its nodes. Nothing here depends on an engine or a limit. */
import type { Ranges } from './character-classes.js'

/**
 * A part of a pattern; `size` is about the number of instructions that an engine needs for it. A class without ranges
 * is one that only the engine knows in full: a Unicode class, or characters under case folding. `rangesMax` is how many
 * ranges it has at most.
 */
export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly size: number }
  | { readonly kind: 'any'; readonly size: number }
  | { readonly kind: 'class'; readonly ranges: Ranges | undefined; readonly rangesMax: number; readonly size: number }
  | { readonly kind: 'start' | 'boundary'; readonly size: number }
  /** From and to which index of the pattern's text it is written, and whether it also matches at the end of a line. */
  | {
      readonly kind: 'end'
      readonly from: number
      readonly to: number
      readonly ofLines: boolean
      readonly size: number
    }
  | { readonly kind: 'sequence' | 'either'; readonly nodes: readonly Node[]; readonly size: number }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number; readonly size: number }

/** A few ranges that only the engine knows, such as a letter in both cases. */
export const unknownClass: Node = { kind: 'class', ranges: undefined, rangesMax: 4, size: 1 }

/** @param rangesMax how many ranges there are at most where they are not known */
export function classNode(ranges: Ranges | undefined, rangesMax = 0): Node {
  return { kind: 'class', ranges, rangesMax: ranges?.length ?? rangesMax, size: 1 }
}

export function sequenceNode(nodes: readonly Node[]): Node {
  return onlyNode(nodes) ?? { kind: 'sequence', nodes, size: totalSize(nodes) }
}

/** The same node as a group that captures: an engine needs an instruction at its beginning and one at its end. */
export function capturedNode(node: Node): Node {
  return { ...node, size: node.size + 2 }
}

export function eitherNode(nodes: readonly Node[]): Node {
  return onlyNode(nodes) ?? { kind: 'either', nodes, size: totalSize(nodes) + nodes.length - 1 }
}

/** @param max may be Infinity */
export function repeatNode(node: Node, min: number, max: number): Node {
  return { kind: 'repeat', node, min, max, size: timesOf(min, max) * Math.max(1, node.size) + 1 }
}

/** How many ranges the instructions of a node's classes have in all, with repetitions expanded. */
export function rangesOf(node: Node): number {
  switch (node.kind) {
    case 'class':
      return node.rangesMax
    case 'repeat':
      return timesOf(node.min, node.max) * rangesOf(node.node)
    case 'sequence':
    case 'either':
      return node.nodes.reduce((sum, part) => sum + rangesOf(part), 0)
    default:
      return 0
  }
}

/** How often an engine writes down what is repeated. */
function timesOf(min: number, max: number): number {
  return Math.max(1, max === Infinity ? min : max)
}

function onlyNode(nodes: readonly Node[]): Node | undefined {
  return nodes.length === 1 ? nodes[0] : undefined
}

function totalSize(nodes: readonly Node[]): number {
  let size = 0
  for (const node of nodes) size += node.size
  return size
}
