import type { Workload } from './work/workload.js';
export declare const usage: string;
/** Everything that a run needs to know. */
export interface Options {
    readonly workloads: readonly Workload[];
    readonly contenders: readonly string[] | undefined;
    readonly driver: 'autocannon' | 'wrk';
    readonly seconds: number;
    readonly rounds: number;
    readonly workers: number;
    readonly topics: number | undefined;
    readonly connections: number | undefined;
    readonly valueBytes: number | undefined;
    readonly pageSize: number | undefined;
    readonly temporary: string;
    readonly kept: string;
    readonly smoke: boolean;
    readonly json: boolean;
    /** What is neither an option nor a workload; only `compare` takes any. */
    readonly others: readonly string[];
}
/** A wrong command line, in a sentence. */
export declare class UsageError extends Error {
}
/**
 * Reads a command line.
 *
 * @param othersMax how many positional arguments may come before the workloads
 */
export declare function readOptions(argv: readonly string[], othersMax?: number): Options;
/** Runs a program's body: prints a wrong command line's message, and ends with 2, or 1 when the body is false. */
export declare function program(body: () => Promise<boolean>): Promise<void>;
