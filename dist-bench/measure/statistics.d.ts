/** The few figures that sum up several measurements of one thing. */
/** A median and how far the single measurements lay around it. */
export interface Spread {
    readonly median: number;
    readonly min: number;
    readonly max: number;
}
export declare function spread(values: readonly number[]): Spread;
export declare function median(values: readonly number[]): number;
/** A straight line through points, by least squares. */
export interface Line {
    readonly slope: number;
    /** Standard error of the slope. */
    readonly slopeError: number;
}
export declare function regression(points: readonly (readonly [x: number, y: number])[]): Line;
