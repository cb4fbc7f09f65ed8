/** The order in which the service lists paths: segment by segment, by the bytes of their UTF-8. */

const encoder = new TextEncoder()

export function comparePaths(a: string, b: string): number {
  const [as, bs] = [a.split('/'), b.split('/')]
  for (let i = 0; i < Math.min(as.length, bs.length); i++) {
    const order = compareBytes(encoder.encode(as[i]), encoder.encode(bs[i]))
    if (order !== 0) return order
  }
  return as.length - bs.length
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
