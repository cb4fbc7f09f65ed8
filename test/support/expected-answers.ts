/**
 * The assertions that most tests make about an answer: that it is a certain 200, or a certain refusal.
 */
import type { Test } from 'tap'
import type { Answer } from './service/client.js'

/** Asserts that the answer is a 200 with exactly this body. */
export function gives(t: Test, answer: Answer, body: string, expectation: string): void {
  const { status, text } = answer
  t.strictSame(
    { status, type: answer.headers['content-type'], text },
    { status: 200, type: 'application/json', text: body },
    expectation,
  )
}

/**
 * Asserts that the answer is a refusal with this status and code, in the shape that every refusal has, and that its
 * message is one sentence with each of `mentions` in it.
 */
export function refuses(
  t: Test,
  answer: Answer,
  status: number,
  code: string,
  expectation: string,
  ...mentions: readonly string[]
): void {
  refusesOperation(t, answer, status, code, undefined, expectation, ...mentions)
}

/** As `refuses`, for a batch in which the operation with this index is refused. */
export function refusesOperation(
  t: Test,
  answer: Answer,
  status: number,
  code: string,
  operation: number | undefined,
  expectation: string,
  ...mentions: readonly string[]
): void {
  const found = { status: answer.status, type: answer.headers['content-type'], code: answer.code, text: answer.text }
  const text = JSON.stringify({ code, message: answer.message, operation })
  t.strictSame(found, { status, type: 'application/json', code, text }, expectation)
  t.match(answer.message, /^[A-Z].+\.$/s, `${expectation}: in one sentence`)
  for (const mention of mentions)
    t.ok(answer.message.includes(mention), `${expectation}: "${answer.message}" mentions ${mention}`)
}
