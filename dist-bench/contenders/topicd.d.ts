import { type Operation } from '../work/operation.js';
import type { Contender, Exchange } from './contender.js';
/** What topicd needs to be one contender among several of its revisions. */
export interface Build {
    readonly name: string;
    /** The directory that holds `main.js`. */
    readonly dist: string;
    readonly version: string;
    /** Extra environment of the server, as a profiler wants it. */
    readonly environment?: Readonly<Record<string, string>>;
}
/** topicd as built in `dist`. */
export declare function topicd(build: Build): Promise<Contender>;
/** The topicd of this checkout. */
export declare const thisBuild: Build;
/** The request of an operation, without its answers. */
export declare function topicdRequest(operation: Operation): Omit<Exchange, 'answers'>;
