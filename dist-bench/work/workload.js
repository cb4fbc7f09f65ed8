/** The scale that a workload has unless it says otherwise. */
export const usualScale = { topics: 100_000, valueBytes: 64, connections: 64, pageSize: 10 };
/** The scale of the workloads that ask what selectors cost in a big tree. */
export const selectorScale = { ...usualScale, topics: 1_000_000, connections: 16 };
/** Most different requests of one burst: enough to defeat the processor's caches, few enough to prepare in a second. */
export const distinctRequestsMax = 20_000;
/** Most bytes of prepared values and answers in one burst. */
export const distinctBytesMax = 16 * 1024 * 1024;
/** How many different requests a burst has when each carries `bytes` bytes in its body or its answer. */
export function distinctRequests(bytes, connections) {
    const most = Math.min(distinctRequestsMax, Math.floor(distinctBytesMax / bytes));
    return Math.max(1, Math.floor(most / connections)) * connections;
}
/** Deals things out over connections: neighbours go to neighbouring connections. Each connection gets at least one. */
export function deal(things, connections) {
    return Array.from({ length: connections }, (_, connection) => {
        const own = things.filter((_, i) => i % connections === connection);
        return own.length > 0 ? own : [things[connection % things.length]];
    });
}
/** Variants of values that the writes of a round use: two, and not those of the round before. */
export function variantsOf(round) {
    return round % 2 === 0 ? [1, 2] : [3, 4];
}
/** Every variant that a topic can hold once rounds have written. */
export const everyVariant = [0, 1, 2, 3, 4];
