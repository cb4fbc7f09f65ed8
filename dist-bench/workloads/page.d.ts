/**
 * What does a page of a subtree cost: the first page of one group's subtree, for random groups, with 10 and with 100
 * items?
 */
import type { Operation } from '../work/operation.js';
import { type Tree } from '../work/tree.js';
import { type Scale, type Workload } from '../work/workload.js';
/** The page of the whole tree that begins after the topic at `index`. */
export declare function pageAfter(tree: Tree, index: number, size: number): Operation;
/** Pages at seeded random places, as many different ones as fit, dealt over the connections. */
export declare function randomPages(tree: Tree, scale: Scale, seed: number, page: (random: number) => Operation): Operation[][];
export declare const page10: Workload;
export declare const page100: Workload;
