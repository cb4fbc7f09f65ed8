/**
 * JSON values that the service must return byte for byte, and a printable form for assertion messages.
 */

/** Values that parsing and printing would change, or whose end a careless search would miss. */
export const exactValues: readonly string[] = [
  ...['12345678901234567890', '-12345678901234567890.12345678901234567890', '1.10', '1.0', '0.1e1', '1E5', '1e+5'],
  ...['1e400', '-1e400', '1e-400', '-0', '-0.0', '0e0', '1e0000000001'],
  '{"a":1,"a":2}',
  '{"a":{"b":1,"b":2},"a":null}',
  '{"b":1,"a":2,"1":3,"0":4}',
  '{"__proto__":{"x":1},"constructor":2}',
  '{"":0," ":1}',
  '{"\\u0061":1,"a":2}',
  '"\\u0041"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00 😀"',
  '"\\/ \\b\\f\\n\\r\\t \\" \\\\"',
  '"\\\\"',
  '"\\\\\\""',
  '"}],{[\\"value\\":1"',
  '"\u007f\u0080\u2028\u2029\ufeff\uffff"',
  '"é e\u0301 日本語 \u{10ffff}"',
  '"\\u0000"',
  ...['""', '[]', '{}', '[[[]],{},[{}]]', 'null', 'true', 'false'],
  `[${Array.from({ length: 1000 }, (_, i) => `${i}.0`).join(',')}]`,
]

/** A string for an assertion's message, escaped because line ends and similar characters would break the report. */
export function printable(text: string): string {
  return text.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
