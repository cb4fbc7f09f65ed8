/** Checks an export without a store: every line must be valid, and none may be missing. */
import { importLineBytesMax } from '../settings/limits.js'
import { ExportEnd, unfinished, unfinishedAdvice } from './export-end.js'
import { parseImportLine, WrongLine } from './import-line.js'
import { LineTooLong, splitLines } from './lines.js'

/**
 * @param allowsUnfinished accepts an export whose last line is missing or states a different number of lines
 * @param onFinding receives each problem as one sentence
 * @returns the number of valid lines of topics and keys
 * @throws Error if the input cannot be read
 */
export async function checkExport(
  input: AsyncIterable<Uint8Array>,
  allowsUnfinished: boolean,
  onFinding: (finding: string) => Promise<void>,
): Promise<number> {
  const end = new ExportEnd()
  let number = 0
  let records = 0
  try {
    for await (const bytes of splitLines(input, importLineBytesMax)) {
      number++
      if (bytes.length === 0) continue
      try {
        const line = parseImportLine(bytes)
        if (line.kind === 'end') end.end(allowsUnfinished ? undefined : line.lines)
        else {
          records++
          end.count()
        }
      } catch (error) {
        if (!(error instanceof WrongLine)) throw error
        end.count()
        await onFinding(`line ${number}: ${error.message}`)
      }
    }
  } catch (error) {
    if (!(error instanceof LineTooLong)) throw error
    await onFinding(`line ${number + 1}: ${error.message}`)
    return records
  }
  if (!end.isEnded && !allowsUnfinished) await onFinding(`the file ${unfinished}; ${unfinishedAdvice}`)
  return records
}
