/**
 * What do an add and a remove of one topic cost, both durable? Each connection adds and removes its own topics one after
 * the other, so every answer is known: created, then one removed. The figure is per request, so a pair costs twice that.
 */
import { deal, usualScale } from '../work/workload.js';
const pathsPerConnection = 16;
function paths(connections) {
    return Array.from({ length: connections * pathsPerConnection }, (_, i) => `b/pair/${String(i).padStart(6, '0')}`);
}
export const addRemove = {
    name: 'add-remove',
    question: 'What do a durable add and a durable remove of one topic cost?',
    scale: usualScale,
    contenders: 'all',
    ordered: true,
    scripts(_tree, scale) {
        return deal(paths(scale.connections), scale.connections).map((own) => own.flatMap((path) => [
            { kind: 'add', path },
            { kind: 'remove', path },
        ]));
    },
    before(scale) {
        return paths(scale.connections).map((path) => ({ kind: 'remove', path }));
    },
};
