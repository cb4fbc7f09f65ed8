/** The cursor in a pattern's text, which syntax.ts and characters.ts move, and the errors that stop parsing. */

/** Stops the parsing of a pattern. `message` names the wrong text; `at` is its index. */
export class PatternError extends Error {
  /** @param refused true for a pattern that is valid elsewhere, but takes more than linear time or exceeds a limit */
  constructor(
    problem: string,
    readonly at: number,
    readonly refused: boolean,
  ) {
    super(problem)
  }
}

export function syntaxError(problem: string, at: number): PatternError {
  return new PatternError(problem, at, false)
}

/** For text that is a valid regular expression elsewhere, but not supported here. */
export function unsupported(problem: string, at: number): PatternError {
  return new PatternError(problem, at, true)
}

export function notLinear(construct: string, at: number): PatternError {
  return unsupported(`${construct}, which the linear-time engine does not support (\\Q…\\E quotes plain text)`, at)
}

export class Cursor {
  /** In UTF-16 units. */
  index = 0

  constructor(readonly text: string) {}

  isAtEnd(): boolean {
    return this.index >= this.text.length
  }

  /** The UTF-16 unit at `offset` from the cursor; undefined past the end. */
  unit(offset = 0): string | undefined {
    return this.text[this.index + offset]
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.index)
  }

  takeUnit(unit: string): boolean {
    if (this.unit() !== unit) return false
    this.index++
    return true
  }

  /** Moves past the next character, a whole code point. Must not be called at the end. */
  takeCharacter(): string {
    const character = String.fromCodePoint(this.text.codePointAt(this.index) as number)
    this.index += character.length
    return character
  }

  /** Moves past the match of a sticky expression at the cursor; returns undefined if there is no match. */
  takeMatch(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.index
    const match = sticky.exec(this.text) ?? undefined
    if (match !== undefined) this.index += match[0].length
    return match
  }
}
