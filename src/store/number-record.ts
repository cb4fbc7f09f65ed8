/** Numbers as records in tables. */

const numberBytes = 8

export function numberRecord(value: number): Buffer {
  const record = Buffer.allocUnsafe(numberBytes)
  record.writeDoubleBE(value)
  return record
}

/** The number in a record; undefined if the record is missing or unreadable. */
export function numberOf(record: Buffer | undefined): number | undefined {
  const number = record?.length === numberBytes ? record.readDoubleBE() : NaN
  return Number.isFinite(number) ? number : undefined
}
