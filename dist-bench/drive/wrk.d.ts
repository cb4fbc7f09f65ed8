import { type Driver } from './driver.js';
/** Undefined when wrk is not installed. @param directory where jobs are handed over */
export declare function wrkDriver(directory: string): Driver | undefined;
