import type { Contender, Running } from '../contenders/contender.js';
import type { Burst, Driver } from '../drive/driver.js';
import type { Script } from '../work/operation.js';
import type { Scale, Workload } from '../work/workload.js';
import { type Homes } from './home.js';
/** How a workload is measured. */
export interface Measuring {
    readonly rounds: number;
    readonly seconds: number;
    readonly workers: number;
    readonly homes: Homes;
    /** Drives, and drives what the first can not. */
    readonly driver: Driver;
    readonly orderedDriver: Driver;
}
/** One burst as a figure. */
export interface Round {
    readonly microsecondsPerRequest: number;
    /** The same over that of the floor in this round, if the floor took part. */
    readonly ratio: number | undefined;
    readonly requestsPerSecond: number;
    readonly latencyMedianMs: number;
    readonly latency99Ms: number;
    /** CPU seconds a second of the server and of the driver. */
    readonly serverLoad: number;
    readonly driverLoad: number;
}
/** What one contender came to. */
export interface Outcome {
    readonly contender: string;
    readonly rounds: readonly Round[];
    /** Why there are no figures, or why they do not count. */
    readonly problem?: string;
}
export interface Result {
    readonly workload: string;
    readonly question: string;
    readonly scale: Scale;
    readonly workers: number;
    readonly driver: string;
    readonly ratioMax?: number;
    readonly latencyMedianMsMax?: number;
    readonly outcomes: readonly Outcome[];
}
/** A burst with the CPU time that the contender used in it. */
interface Measured {
    readonly burst: Burst;
    readonly serverSeconds: number;
}
/** Measures a workload at a scale over contenders; the floor has to be among them for ratios. */
export declare function measure(workload: Workload, scale: Scale, contenders: readonly Contender[], measuring: Measuring): Promise<Result>;
/** One burst of the scripts. Throws when one of the contender's processes ends in it. */
export declare function burst(running: Running, scripts: readonly Script[], seconds: number, driver: Driver): Promise<Measured>;
export {};
