import type { Item } from './operation.js';
/** The shortest value: `{"v":12345678,"k":1}`. */
export declare const valueBytesMin = 20;
/** A tree of `topics` topics with values of `valueBytes` bytes. */
export declare class Tree {
    readonly topics: number;
    readonly valueBytes: number;
    readonly group: number;
    constructor(topics: number, valueBytes: number);
    /** The path of the topic at `index` in topic tree order. */
    path(index: number): string;
    /** The value that the topic at `index` is loaded with, or, with `variant` 1 to 9, another of the same length. */
    value(index: number, variant?: number): string;
    item(index: number): Item;
    /** Up to `size` topics from `index` on. */
    items(index: number, size: number): Item[];
    /** `count` different indices of `hum` topics in seeded random order; fewer when there are not so many. */
    sample(count: number, seed: number): number[];
    private hums;
}
/** A value of `bytes` bytes: never the same text for two variants of one index. */
export declare function valueText(index: number, variant: number, bytes: number): string;
/** Random numbers from 0 to 1 that only the seed decides (mulberry32). */
export declare function seeded(seed: number): () => number;
