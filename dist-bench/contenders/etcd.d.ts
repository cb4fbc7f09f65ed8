import type { Contender } from './contender.js';
export declare const etcd: Contender;
