/** What some processes have used so far. */
export interface CpuReading {
    readonly nanoseconds: ReadonlyMap<string, number>;
    readonly ticks: ReadonlyMap<number, number>;
}
/** A process and all its descendants. */
export declare function processTree(pid: number): number[];
export declare function readCpu(pids: readonly number[]): CpuReading;
/** Seconds of CPU used between two readings of the same processes. */
export declare function cpuSeconds(before: CpuReading, after: CpuReading): number;
