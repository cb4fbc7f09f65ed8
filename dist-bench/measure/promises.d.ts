/**
 * Which of topicd's promises each contender keeps: asked of it, not claimed for it. A contender that is faster because it
 * promises less should be seen to.
 */
import type { Contender } from '../contenders/contender.js';
import { type Homes } from './home.js';
/** One line of the table: a promise, and for each contender whether it keeps it. */
export interface PromiseRow {
    readonly words: string;
    readonly kept: Readonly<Record<string, string>>;
}
/** Asks every contender that stores anything. */
export declare function promisesKept(contenders: readonly Contender[], workers: number, homes: Homes): Promise<PromiseRow[]>;
