import { deal, distinctRequests, usualScale, variantsOf } from '../work/workload.js';
/** Each connection overwrites its own topics, with one variant and then with the other. */
export function overwrites(tree, scale, round) {
    const count = distinctRequests(2 * (tree.valueBytes + 128), scale.connections);
    const indices = tree.sample(Math.max(count, scale.connections), 400);
    return deal(indices, scale.connections).map((own) => variantsOf(round).flatMap((variant) => own.map((index) => ({ kind: 'overwrite', path: tree.path(index), value: tree.value(index, variant) }))));
}
function overwrite(connections, ratioMax) {
    return {
        name: `overwrite-${connections}`,
        question: `What does a durable addAndSet cost with ${connections} connection${connections === 1 ? '' : 's'}?`,
        scale: { ...usualScale, connections },
        contenders: 'all',
        ordered: false,
        ratioMax,
        scripts: overwrites,
    };
}
export const overwrite1 = overwrite(1);
export const overwrite64 = overwrite(64);
export const overwrite256 = overwrite(256, 4.5);
