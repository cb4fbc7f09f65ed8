/**
 * One request at a time, and many with a bound, through node:http: for checks, loading and reading back. Never for timing.
 */
import { Agent } from 'node:http';
import type { Exchange } from '../contenders/contender.js';
export interface Answer {
    readonly status: number;
    readonly body: string;
}
/** Puts one exchange to a server on 127.0.0.1; rejects when there is no answer. */
export declare function ask(port: number, headers: Readonly<Record<string, string>>, exchange: Omit<Exchange, 'answers'>, agent?: Agent): Promise<Answer>;
/** Runs `task` for every thing, at most `outstandingMax` at a time, each over a kept connection. */
export declare function forEachAsked<Thing>(things: Iterable<Thing>, outstandingMax: number, task: (thing: Thing, agent: Agent) => Promise<void>): Promise<void>;
