/** Reads a whole value step by step, as a caller of the reader does that needs all of it. */
import { openBrace, openBracket } from '../../dist/json/bytes.js'
import { type JsonReader, setMember } from '../../dist/json/reader.js'

/** The last of several members with the same name counts. */
export function treeOf(reader: JsonReader): unknown {
  if (reader.first === openBrace) {
    const object = {}
    for (let name = reader.enterObject(); name !== undefined; name = reader.nextName())
      setMember(object, name, treeOf(reader))
    return object
  }
  if (reader.first !== openBracket) return reader.value()
  const array: unknown[] = []
  for (let isIn = reader.enterArray(); isIn; isIn = reader.nextElement()) array.push(treeOf(reader))
  return array
}
