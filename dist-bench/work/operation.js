/**
 * What a benchmark asks of a topic store, in terms that every contender can translate into its own requests, and the
 * answer that the specification wants. No HTTP, no contender, no clock lives here.
 */
/** The result item of a fetch, as text. */
export function itemText(item) {
    return `{"path":${JSON.stringify(item.path)},"type":"json","value":${item.value}}`;
}
/** The bodies that answer an operation rightly: one, or as many as there are values that a topic may hold. */
export function rightAnswers(operation) {
    switch (operation.kind) {
        case 'fetch':
            return operation.values.map((value) => itemText({ path: operation.path, value }));
        case 'page':
            return [`{"has_more":${operation.hasMore},"results":[${operation.items.map(itemText).join()}]}`];
        case 'overwrite':
            return [`{"path":${JSON.stringify(operation.path)},"created":false}`];
        case 'create':
        case 'add':
            return [`{"path":${JSON.stringify(operation.path)},"created":true}`];
        case 'remove':
            return ['{"removed":1}'];
    }
}
/** The selector as the specification writes it. */
export function selectorText(selector) {
    return 'text' in selector ? selector.text : `*${selector.subtree}//`;
}
