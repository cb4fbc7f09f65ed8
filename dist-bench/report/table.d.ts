/** Results as text: lines for each workload while the run goes on, and tables in Markdown at its end. */
import type { PromiseRow } from '../measure/promises.js';
import type { Outcome, Result } from '../measure/interleave.js';
import { type Spread } from '../measure/statistics.js';
/** What one contender's rounds came to. */
export interface Summary {
    readonly microseconds: Spread;
    readonly ratio: Spread | undefined;
    readonly requestsPerSecond: Spread;
    readonly latencyMedianMs: number;
    readonly latency99Ms: number;
    readonly boundBy: 'server' | 'driver' | 'neither';
}
/** Undefined when the contender has no rounds or its answers were wrong. */
export declare function summary(outcome: Outcome, workers: number): Summary | undefined;
/** A workload as it is shown when it is done. */
export declare function resultLines(result: Result): string[];
/** Whether topicd kept what was set for it in a workload. */
export declare function verdicts(result: Result): {
    words: string;
    met: boolean;
}[];
/** All workloads in one table: CPU per request of each contender and its ratio to the floor. */
export declare function ratioTable(results: readonly Result[]): string[];
/** Who keeps which promise. */
export declare function promiseTable(rows: readonly PromiseRow[]): string[];
export declare function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string[];
/** A number in three or so significant digits. */
export declare function figure(value: number): string;
