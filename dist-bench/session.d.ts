import type { Contender } from './contenders/contender.js';
import { type Measuring } from './measure/interleave.js';
import { type Machine } from './measure/machine.js';
import { type Options } from './options.js';
import type { Scale, Workload } from './work/workload.js';
/** What a run shares among its workloads. */
export interface Session {
    readonly measuring: Measuring;
    readonly machine: Machine;
    readonly say: (text: string) => void;
}
/** Runs what the options ask for. @returns whether all answers were right */
export declare function bench(options: Options): Promise<boolean>;
/** Sets a run up, runs `body`, and takes everything down again, whatever happens. */
export declare function withSession<Value>(options: Options, contenders: readonly Contender[], body: (session: Session) => Promise<Value>): Promise<Value>;
/** The scale of a workload under the options. */
export declare function scaleOf(workload: Workload, options: Options): Scale;
