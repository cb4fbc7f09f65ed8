import { type Workload } from '../work/workload.js';
export declare const scanNothing: Workload;
export declare const fetchBesideScan: Workload;
