/**
 * The data file as bytes: the part of LMDB's format that is needed to examine a file without opening it in lmdb. Only parsing;
 * preflight.ts decides whether a file is sound.
 *
 * The layout matches the mdb.c that lmdb bundles, on a 64-bit little-endian machine:
 *
 *     page   number 8 · transaction 8 · pad 2 · flags 2 · lower 2 · upper 2 · then nodes' offsets, 2 each; nodes from the end
 *     meta   page header · magic 4 · version 4 · address 8 · map size 8 · free tree 48 · main tree 48 · last page 8 · transaction 8
 *     tree   page size or pad 4 · flags 2 · depth 2 · branch pages 8 · leaf pages 8 · overflow pages 8 · entries 8 · root 8
 *     node   in a leaf: data size 4 · flags 2 · key size 2 · key · data; in a branch the first 6 bytes are the child's number
 */

/**
 * Reads up to `bytes` bytes from `offset`: fewer at the end of the file, none beyond it. Both numbers may come from a damaged page,
 * so they may have any value.
 */
export type ReadAt = (offset: number, bytes: number) => Buffer

/** One of two pages that name the roots of a snapshot. If both are sound, LMDB uses the one with the later transaction. */
export interface Meta {
  readonly pageSize: number
  readonly version: number
  readonly lastPage: number
  readonly transaction: number
  /** The root of the tree of free pages, if any. */
  readonly freeRoot: number | undefined
  /** The root of the tree that holds all others, if any. */
  readonly mainRoot: number | undefined
}

interface TreePage {
  readonly isLeaf: boolean
  readonly nodes: readonly Node[]
}

interface Node {
  /** In a branch: the child page. */
  readonly child: number
  readonly flags: number
  /** In a leaf: the data or, if they are on overflow pages, the number of the first page. */
  readonly data: Buffer
  readonly dataBytes: number
}

const pageHeaderBytes = 24
const nodeHeaderBytes = 8
const magic = 0xbeefc0de
const noRoot = 0xffffffffffffffffn

const branchFlag = 0x01
const leafFlag = 0x02
const metaFlag = 0x08

/** The data are on overflow pages; the node holds the number of the first one. */
const bigDataFlag = 0x01
/** The data are a tree. */
const treeFlag = 0x02

/** The size of a meta page's content, from the start of the page. */
export const metaBytes = pageHeaderBytes + 136

export function readMeta(read: ReadAt, offset: number): Meta | undefined {
  const page = read(offset, metaBytes)
  if (page.length < metaBytes || (page.readUInt16LE(18) & metaFlag) === 0 || page.readUInt32LE(24) !== magic)
    return undefined
  return {
    version: page.readUInt32LE(28) & 0xffff,
    pageSize: page.readUInt32LE(48),
    freeRoot: rootAt(page, 88),
    mainRoot: rootAt(page, 136),
    lastPage: Number(page.readBigUInt64LE(144)),
    transaction: Number(page.readBigUInt64LE(152)),
  }
}

function rootAt(bytes: Buffer, offset: number): number | undefined {
  const root = bytes.readBigUInt64LE(offset)
  return root === noRoot ? undefined : Number(root)
}

export function readTreePage(read: ReadAt, number: number, pageSize: number): TreePage | undefined {
  const page = read(number * pageSize, pageSize)
  if (page.length < pageSize || Number(page.readBigUInt64LE(0)) !== number) return undefined
  const flags = page.readUInt16LE(18) & (branchFlag | leafFlag)
  if (flags !== branchFlag && flags !== leafFlag) return undefined
  const isLeaf = flags === leafFlag
  const nodes: Node[] = []
  const offsetsEnd = pageHeaderBytes + page.readUInt16LE(20)
  for (let index = pageHeaderBytes; index < offsetsEnd; index += 2) {
    const node = index + 2 > pageSize ? undefined : readNode(page, pageHeaderBytes + page.readUInt16LE(index), isLeaf)
    if (node === undefined) return undefined
    nodes.push(node)
  }
  return { isLeaf, nodes }
}

function readNode(page: Buffer, at: number, isLeaf: boolean): Node | undefined {
  if (at + nodeHeaderBytes > page.length) return undefined
  const flags = isLeaf ? page.readUInt16LE(at + 4) : 0
  const dataBytes = isLeaf ? page.readUInt32LE(at) : 0
  const from = at + nodeHeaderBytes + page.readUInt16LE(at + 6)
  const to = from + ((flags & bigDataFlag) === 0 ? dataBytes : 8)
  return to > page.length
    ? undefined
    : { child: page.readUIntLE(at, 6), flags, data: page.subarray(from, to), dataBytes }
}

/** Undefined if the node has no tree, or its tree is empty. */
export function rootOfNode({ flags, data }: Node): number | undefined {
  return (flags & treeFlag) === 0 || data.length < 48 ? undefined : rootAt(data, 40)
}

/** The data of a leaf's node, from the node itself or from overflow pages. */
export function readData(read: ReadAt, { flags, data, dataBytes }: Node, pageSize: number): Buffer {
  if ((flags & bigDataFlag) === 0) return data
  return read(Number(data.readBigUInt64LE(0)) * pageSize + pageHeaderBytes, dataBytes)
}

/**
 * The pages of a record in the tree of free pages, as runs. The record is a count of words, then page numbers; a negative word
 * before a page number gives the length of the run that starts there.
 */
export function* freeRuns(record: Buffer): Generator<{ readonly first: number; readonly length: number }> {
  const words = Math.min(record.length < 8 ? 0 : Number(record.readBigUInt64LE(0)), Math.floor(record.length / 8) - 1)
  let length = 1
  for (let word = 1; word <= words; word++) {
    const value = Number(record.readBigInt64LE(word * 8))
    if (value > 0) yield { first: value, length }
    length = value < 0 ? -value : 1
  }
}
