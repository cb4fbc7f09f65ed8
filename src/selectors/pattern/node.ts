/** The tree of a parsed pattern, and the sizes of its nodes. Nothing here depends on an engine or a limit. */
import type { Ranges } from './character-classes.js'

/**
 * A part of a pattern; `size` is about the number of instructions that an engine needs for it. A class without `ranges`
 * is known in full only to the engine: a Unicode class, or characters under case folding. `rangesMax` is the maximum
 * number of its ranges.
 */
export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly size: number }
  | { readonly kind: 'any'; readonly size: number }
  | { readonly kind: 'class'; readonly ranges: Ranges | undefined; readonly rangesMax: number; readonly size: number }
  | { readonly kind: 'start' | 'boundary'; readonly size: number }
  /** `from` and `to` are its indexes in the pattern's text; with `ofLines`, it also matches at the end of a line. */
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

/** @param rangesMax maximum number of ranges if they are not known */
export function classNode(ranges: Ranges | undefined, rangesMax = 0): Node {
  return { kind: 'class', ranges, rangesMax: ranges?.length ?? rangesMax, size: 1 }
}

export function sequenceNode(nodes: readonly Node[]): Node {
  return onlyNode(nodes) ?? { kind: 'sequence', nodes, size: totalSize(nodes) }
}

/** The same node as a capturing group: an engine needs one more instruction at its start and one at its end. */
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

/** The total number of ranges in the instructions of a node's classes, with repetitions expanded. */
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

/** The number of copies of a repeated node in an engine's program. */
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
