/** The failure of a request about API keys of which it is certain that it changed nothing. Nothing else is here: workers load it. */

/** Nothing came of a request, and nothing will. */
export class NothingDone extends Error {}
