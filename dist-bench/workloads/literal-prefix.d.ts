/** What does a page of a full-path pattern cost whose literal prefix bounds the scan to one group of 1,000,000 topics? */
import { type Workload } from '../work/workload.js';
export declare const literalPrefix: Workload;
