/** The project's directory; the compiled benchmark lies one below. */
export declare const root: string;
export interface Machine {
    readonly line: string;
    /** What a reader should know before believing the figures. */
    readonly warnings: readonly string[];
}
/** @param directory where the contenders' data lies */
export declare function machine(directory: string, versions: readonly string[]): Machine;
/** The version of an installed package of this project. */
export declare function packageVersion(name: string): string | undefined;
/** The first match of `pattern` in what a program says of its version; undefined when it is not installed. */
export declare function programVersion(command: string, args: readonly string[], pattern: RegExp): string | undefined;
