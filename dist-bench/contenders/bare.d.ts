import { type Script } from '../work/operation.js';
import type { Contender } from './contender.js';
export declare const bare: Contender;
/** The mean length of the right answers of some scripts, for the setting of the floor. */
export declare function meanAnswerBytes(scripts: readonly Script[]): number;
