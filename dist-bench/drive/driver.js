/** Time after which a missing answer is a failure. */
export const answerSecondsMax = 10;
/** Characters of a wrong answer that a problem shows. */
export const shownMax = 300;
