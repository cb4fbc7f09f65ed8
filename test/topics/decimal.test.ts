/** Sums of JSON numbers: exact to the last digit, in the shortest plain form. Random sums are compared with fractions. */
import t from 'tap'
import { numberDigitsMax, sumOf } from '../../dist/topics/decimal.js'
import { seededRandom } from '../support/random.js'

t.test('sums are exact and written in their shortest plain form', (t) => {
  const sums: readonly (readonly [a: string, b: string, sum: string | undefined])[] = [
    ['0.1', '0.2', '0.3'],
    ['1', '1', '2'],
    ['-1', '1', '0'],
    ['-0', '-0', '0'],
    ['-0', '0', '0'],
    ['-0.0', '0', '0'],
    ['999999999999999', '1', '1000000000000000'],
    ['9007199254740993', '9007199254740993', '18014398509481986'],
    ['12345678901234567890', '-1', '12345678901234567889'],
    ['1e3', '-1.50', '998.5'],
    ['1E+3', '0', '1000'],
    ['1e-3', '0', '0.001'],
    ['-1.5', '0.25', '-1.25'],
    ['-0.05', '0', '-0.05'],
    ['1.10', '0', '1.1'],
    ['1.0', '0', '1'],
    ['100', '0', '100'],
    ['1e2', '-1e2', '0'],
    ['0e999999999999999999', '1', '1'],
    ['0.00', '1e-2', '0.01'],
    ['99.99', '0.01', '100'],
    ['1e5', '1e-5', '100000.00001'],
    ['0', '', undefined],
    ['0', '1a', undefined],
    ['0', '+1', undefined],
    ['0', '"1"', undefined],
    ['null', '1', undefined],
    ['[1]', '1', undefined],
    ['1 ', '1', undefined],
    ['0', '1.', undefined],
    ['0', 'Infinity', undefined],
    ['0x10', '1', undefined],
  ]
  for (const [a, b, sum] of sums) {
    t.equal(sumOf(a, b), sum, `${a} and ${b}`)
    t.equal(sumOf(b, a), sum, `${b} and ${a}`)
  }
  t.end()
})

t.test('numbers and sums have at most 1,000 digits', (t) => {
  const nines = '9'.repeat(numberDigitsMax)
  t.equal(sumOf(nines, '0'), nines)
  t.equal(sumOf(`-${nines}`, '0'), `-${nines}`)
  t.equal(sumOf(nines, '1'), undefined, 'a sum with one digit too many')
  t.equal(sumOf(nines, '-1'), `${nines.slice(1)}8`)
  t.equal(sumOf(`${nines}0`, '-1'), undefined, 'a number with one digit too many')
  t.equal(sumOf('1e999', '0'), `1${'0'.repeat(999)}`)
  t.equal(sumOf('1e1000', '0'), undefined)
  t.equal(sumOf('1e-1000', '0'), `0.${'0'.repeat(999)}1`)
  t.equal(sumOf('1e-1001', '0'), undefined)
  t.equal(sumOf('1e999', '0.1'), undefined, 'a sum with one digit too many after the point')
  t.equal(sumOf('1e998', '0.1'), `1${'0'.repeat(998)}.1`)
  t.equal(sumOf(`0.${nines}`, `0.${'0'.repeat(999)}1`), '1')
  t.equal(sumOf('1e99999999999999999999', '1'), undefined)
  t.equal(sumOf('1e-99999999999999999999', '1'), undefined)
  t.equal(sumOf(`${'0'.repeat(2000)}1`, '1'), undefined, 'invalid JSON that is also too long')
  t.end()
})

t.test('random sums equal the sums calculated with fractions', (t) => {
  const random = seededRandom(t)
  const scale = 60
  const digits = (count: number): string => Array.from({ length: count }, () => random.below(10)).join('')
  const number = (): string => {
    const whole = random.oneIn(3) ? '0' : String(1 + random.below(9)) + digits(random.below(20))
    const fraction = random.oneIn(2) ? '' : `.${digits(1 + random.below(20))}`
    const exponent = random.oneIn(3)
      ? `${random.pick(['e', 'E'])}${random.pick(['', '+', '-'])}${random.below(20)}`
      : ''
    return `${random.pick(['', '-'])}${whole}${fraction}${exponent}`
  }
  /** The number times ten to the power of `scale`. */
  const scaled = (text: string): bigint => {
    const [, sign, whole = '', fraction = '', exponent = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
    return BigInt(`${sign}${whole}${fraction}`) * 10n ** BigInt(scale + Number(exponent) - fraction.length)
  }
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [number(), number()]
    const sum = sumOf(a, b) ?? ''
    if (scaled(sum) !== scaled(a) + scaled(b)) t.fail(`${a} and ${b}: ${sum}`)
    if (!/^(0|-?(0\.\d*[1-9]|[1-9]\d*(\.\d*[1-9])?))$/.test(sum)) t.fail(`${a} and ${b}: ${sum} is not its plain form`)
  }
  t.pass('20,000')
  t.end()
})
