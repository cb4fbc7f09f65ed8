import { seeded } from '../work/tree.js';
import { deal, distinctRequests, usualScale } from '../work/workload.js';
/** The first `size` topics of one group. */
function firstPage(tree, group, size) {
    const first = group * tree.group;
    const items = tree.items(first, Math.min(size, tree.group));
    const subtree = tree.path(first).split('/').slice(0, 2).join('/');
    return { kind: 'page', selector: { subtree }, after: undefined, size, items, hasMore: size < tree.group };
}
/** The page of the whole tree that begins after the topic at `index`. */
export function pageAfter(tree, index, size) {
    return {
        kind: 'page',
        selector: { subtree: 'a' },
        after: tree.path(index),
        size,
        items: tree.items(index + 1, size),
        hasMore: index + 1 + size < tree.topics,
    };
}
/** Pages at seeded random places, as many different ones as fit, dealt over the connections. */
export function randomPages(tree, scale, seed, page) {
    const random = seeded(seed);
    const count = distinctRequests(scale.pageSize * (tree.valueBytes + 64), scale.connections);
    return deal(Array.from({ length: count }, () => page(random())), scale.connections);
}
function firstPages(name, pageSize, ratioMax) {
    return {
        name,
        question: `What does the first page of ${pageSize} items of a subtree cost?`,
        scale: { ...usualScale, pageSize },
        contenders: 'all',
        ordered: false,
        ratioMax,
        scripts(tree, scale, round) {
            const groups = tree.topics / tree.group;
            return randomPages(tree, scale, 200 + round, (random) => firstPage(tree, Math.floor(random * groups), scale.pageSize));
        },
    };
}
export const page10 = firstPages('page-10', 10, 2.2);
export const page100 = firstPages('page-100', 100);
