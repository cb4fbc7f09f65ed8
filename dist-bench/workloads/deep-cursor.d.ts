/** Does a page cost more when it lies deep in a walk over the whole tree: `after` set, somewhere in the last tenth? */
import { type Workload } from '../work/workload.js';
export declare const deepCursor: Workload;
