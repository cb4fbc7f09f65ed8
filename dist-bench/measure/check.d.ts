/**
 * Whether a contender's answers are right: before it is timed (one that answers wrongly is not timed at all), and after
 * its last burst, when what was acknowledged is read back.
 */
import { type Running } from '../contenders/contender.js';
import type { Operation, Script } from '../work/operation.js';
/** Runs the start of some scripts, one request at a time. @returns what was wrong, or undefined */
export declare function firstProblem(running: Running, scripts: readonly Script[]): Promise<string | undefined>;
/** Puts one operation to a contender. @returns what was wrong with the answer, or undefined */
export declare function problemWith(running: Running, operation: Operation): Promise<string | undefined>;
/**
 * Reads written topics back.
 *
 * @param answered answers that each connection received in the burst, when the driver knows: then a topic must hold the
 *   last value acknowledged; else it may hold any value that was ever meant for it
 * @returns what was lost, or undefined
 */
export declare function lostWrite(running: Running, scripts: readonly Script[], answered: readonly number[] | undefined): Promise<string | undefined>;
