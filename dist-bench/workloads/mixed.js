import { seeded } from '../work/tree.js';
import { deal, distinctRequests, everyVariant, usualScale, variantsOf } from '../work/workload.js';
/** Fetches for one write. */
const fetchesPerWrite = 9;
/** Each connection writes its own topics and reads everybody's. */
export function mixedScripts(tree, scale, round) {
    const answerBytes = everyVariant.length * (tree.valueBytes + 128);
    const writes = distinctRequests(4 * answerBytes, scale.connections);
    const indices = tree.sample(Math.max(writes, scale.connections), 500);
    const random = seeded(501 + round);
    const fetches = indices.map((index) => {
        return { kind: 'fetch', path: tree.path(index), values: everyVariant.map((variant) => tree.value(index, variant)) };
    });
    const fetch = () => fetches[Math.floor(random() * fetches.length)];
    return deal(indices, scale.connections).map((own) => variantsOf(round).flatMap((variant) => own.flatMap((index) => [
        ...Array.from({ length: fetchesPerWrite }, fetch),
        { kind: 'overwrite', path: tree.path(index), value: tree.value(index, variant) },
    ])));
}
export const mixed = {
    name: 'mixed-90-10',
    question: 'What does a request cost when nine of ten are fetches by path and one is a durable write?',
    scale: usualScale,
    contenders: 'all',
    ordered: false,
    scripts: mixedScripts,
};
