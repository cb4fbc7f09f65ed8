/** A number as a record of a table: `readDoubleBE` of Buffer reads it. */
export function numberRecord(value: number): Buffer {
  const record = Buffer.allocUnsafe(8)
  record.writeDoubleBE(value)
  return record
}
