/**
 * What does a request cost when nine of ten are fetches by path and the tenth is a durable write, all over the same
 * topics? A fetch may find any of the values that a topic is ever given here, and nothing else.
 */
import type { Script } from '../work/operation.js';
import { type Tree } from '../work/tree.js';
import { type Scale, type Workload } from '../work/workload.js';
/** Each connection writes its own topics and reads everybody's. */
export declare function mixedScripts(tree: Tree, scale: Scale, round: number): readonly Script[];
export declare const mixed: Workload;
