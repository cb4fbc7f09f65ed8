/**
 * What do an add and a remove of one topic cost, both durable? Each connection adds and removes its own topics one after
 * the other, so every answer is known: created, then one removed. The figure is per request, so a pair costs twice that.
 */
import { type Workload } from '../work/workload.js';
export declare const addRemove: Workload;
