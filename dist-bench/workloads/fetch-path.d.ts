/** What does it cost to fetch one topic by its path, over the bare HTTP exchange? Random topics of the whole tree. */
import { type Workload } from '../work/workload.js';
export declare const fetchPath: Workload;
