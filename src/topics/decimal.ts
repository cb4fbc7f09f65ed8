/** Exact arithmetic on JSON numbers as text: no digit is rounded. */

/** Maximum digits of a summand and of a sum: far more than any counter needs, yet added within microseconds. */
export const numberDigitsMax = 1000

/** Maximum length of a summand's text: digits, sign, point and exponent. */
export const numberTextMax = numberDigitsMax + 20

/** Integers whose sums are exact as JavaScript numbers. */
const smallInteger = /^-?\d{1,15}$/

/** Matches only from the first zero of a run, so that the time stays linear even if there are many runs. */
const lastZeros = /(?<!0)0+$/

const number = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** `digits` × 10 ^ `exponent`; `digits` has no leading or trailing zeros. */
interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/**
 * The sum of two JSON numbers in its shortest plain form: `0.1` and `0.2` give `0.3`; `1e3` and `-1.50` give `998.5`.
 *
 * @returns undefined if either string is not a number, or if a summand or the sum, written without an exponent, has more than
 *   `numberDigitsMax` digits
 */
export function sumOf(a: string, b: string): string | undefined {
  if (smallInteger.test(a) && smallInteger.test(b)) return String(Number(a) + Number(b))
  const first = parse(a)
  const second = parse(b)
  return first && second && plainText(add(first, second))
}

function parse(text: string): Decimal | undefined {
  if (text.length > numberTextMax) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = number.exec(text) ?? []
  if (sign === undefined || wholeDigits(whole) + fraction.length > numberDigitsMax) return undefined
  const significant = (whole + fraction).replace(/^0+/, '')
  const digits = significant.replace(lastZeros, '')
  if (digits === '') return { digits: 0n, exponent: 0 }
  const power = Number(exponent) - fraction.length + significant.length - digits.length
  if (digitsOf(digits.length, power) > numberDigitsMax) return undefined
  return { digits: BigInt(sign + digits), exponent: power }
}

/** The number of digits before the point; a lone zero does not count. */
function wholeDigits(whole: string): number {
  return whole === '0' ? 0 : whole.length
}

/** The number of digits when written without an exponent. */
function digitsOf(length: number, exponent: number): number {
  return exponent > 0 ? length + exponent : Math.max(length, -exponent)
}

function add(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent)
  const raised = ({ digits, exponent: own }: Decimal): bigint => digits * 10n ** BigInt(own - exponent)
  return { digits: raised(a) + raised(b), exponent }
}

function plainText({ digits, exponent }: Decimal): string | undefined {
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits)
  if (exponent >= 0) {
    const whole = text === '0' ? text : text + '0'.repeat(exponent)
    return whole.length > numberDigitsMax ? undefined : sign + whole
  }
  const padded = text.padStart(1 - exponent, '0')
  const whole = padded.slice(0, exponent)
  const fraction = padded.slice(exponent).replace(lastZeros, '')
  if (wholeDigits(whole) + fraction.length > numberDigitsMax) return undefined
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`
}
