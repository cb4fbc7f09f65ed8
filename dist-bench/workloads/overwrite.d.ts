/**
 * What does a durable write cost? addAndSet of existing topics, each connection its own, always to another value, with
 * one, 64 and 256 connections: how much do writes gain when they share a flush?
 */
import type { Script } from '../work/operation.js';
import type { Tree } from '../work/tree.js';
import { type Scale, type Workload } from '../work/workload.js';
/** Each connection overwrites its own topics, with one variant and then with the other. */
export declare function overwrites(tree: Tree, scale: Scale, round: number): readonly Script[];
export declare const overwrite1: Workload;
export declare const overwrite64: Workload;
export declare const overwrite256: Workload;
