/** A child that is ready. */
export interface Child {
    readonly pid: number;
    /** Sends SIGTERM, waits, and kills it if it does not end. */
    stop(): Promise<void>;
}
/** How a child is started, and how it shows that it is ready. */
export interface Start {
    readonly command: string;
    readonly args: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    /** Called with every line of stdout, or asked again and again, until the answer is true. */
    readonly ready: {
        readonly line: (line: string) => boolean;
    } | {
        readonly poll: () => Promise<boolean>;
    };
}
/** Starts a child and resolves when it is ready; rejects with what it wrote to stderr when it ends before. */
export declare function startChild(start: Start): Promise<Child>;
/** A port of 127.0.0.1 that was free a moment ago, for programs that can not pick one themselves. */
export declare function freePort(): Promise<number>;
