import { selectorScale } from '../work/workload.js';
import { randomPages } from './page.js';
export const splitPathSkip = {
    name: 'split-path-skip',
    question: 'What does a page of 10 of a split-path pattern cost that may skip a thousand topics for each item?',
    scale: selectorScale,
    contenders: 'floor only',
    ordered: false,
    scripts(tree, scale, round) {
        const groups = tree.topics / tree.group;
        return randomPages(tree, scale, 700 + round, (random) => temperatures(tree, Math.floor(random * groups), scale.pageSize));
    },
};
/** The `temp` topics from that of `group` on. */
function temperatures(tree, group, size) {
    const temp = (index) => index * tree.group + tree.group - 1;
    const count = Math.min(size, tree.topics / tree.group - group);
    return {
        kind: 'page',
        selector: { text: '?a/.*/temp' },
        after: group === 0 ? undefined : tree.path(temp(group - 1)),
        size,
        items: Array.from({ length: count }, (_, i) => tree.item(temp(group + i))),
        hasMore: group + count < tree.topics / tree.group,
    };
}
