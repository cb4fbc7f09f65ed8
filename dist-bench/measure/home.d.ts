import type { Contender, Running, Setting } from '../contenders/contender.js';
import type { Operation } from '../work/operation.js';
import type { Tree } from '../work/tree.js';
/** Where homes come from and go to. */
export interface Homes {
    /** Loaded homes are kept here, between runs too. */
    readonly kept: string;
    /** Homes in use; removed afterwards. */
    readonly temporary: string;
    readonly say: (text: string) => void;
}
/** A running contender that holds the tree, and how to be rid of it. */
export interface Housed {
    readonly running: Running;
    /** Stops the contender and removes its home. */
    close(): Promise<void>;
}
/** Starts a contender on a fresh copy of a home that holds the tree. */
export declare function house(contender: Contender, tree: Tree, setting: Omit<Setting, 'home'>, homes: Homes): Promise<Housed>;
/** Makes the operations come true, many at a time; with `lenient` answers do not matter. */
export declare function perform(running: Running, operations: Iterable<Operation>, lenient: boolean): Promise<void>;
