/** Writes strings as UTF-8 into a buffer that has room for them. */

/** Longer strings are left to Node.js, whose call costs as much as this many iterations of a loop. */
const unitsMax = 128

const asciiMax = 0x7f

/** @returns the position after the string */
export function writeText(target: Buffer, start: number, text: string): number {
  if (text.length > unitsMax) return start + target.write(text, start)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > asciiMax) return start + target.write(text, start)
    target[start + i] = unit
  }
  return start + text.length
}
