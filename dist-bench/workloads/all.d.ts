/** Every workload, in the order in which the table shows them. */
import type { Workload } from '../work/workload.js';
export declare const workloads: readonly Workload[];
/** Groups that may stand for their members on the command line. */
export declare const groups: Readonly<Record<string, readonly Workload[]>>;
