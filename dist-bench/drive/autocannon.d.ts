import type { Driver } from './driver.js';
/** @param directory where jobs are handed over */
export declare function autocannonDriver(directory: string): Driver;
