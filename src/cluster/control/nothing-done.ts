/**
 * The failure of a request about API keys of which it is certain that it changed nothing. Kept apart because
 * workers load it.
 */

/** Nothing came of a request, and nothing will. */
export class NothingDone extends Error {}
