/**
 * Does the place of a page of a plain subtree matter among 1,000,000 topics: near the start of the walk, near its end?
 * It must not: within 1.3 of each other, and of the same page among 10,000 topics.
 */
import { type Workload } from '../work/workload.js';
export declare const subtreeShallow: Workload;
export declare const subtreeDeep: Workload;
