import { type Workload } from '../work/workload.js';
export declare const bigFetch: Workload;
export declare const bigOverwrite: Workload;
