import { type Workload } from '../work/workload.js';
export declare const splitPathSkip: Workload;
