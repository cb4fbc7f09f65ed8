/**
 * The most common assertions about a response: that it is a specific 200, or a specific rejection.
 */
import type { Test } from 'tap'
import type { Answer, Body, Client } from './service/client.js'

/** Asserts that the response is a 200 with exactly this body. */
export function gives(t: Test, answer: Answer, body: string, expectation: string): void {
  const { status, text } = answer
  t.strictSame(
    { status, type: answer.headers['content-type'], text },
    { status: 200, type: 'application/json', text: body },
    expectation,
  )
}

/**
 * Asserts that the response is a rejection with this status and code, in the form common to all rejections, and that its message has the
 * form of sentences and contains each of `mentions`.
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

/** Like `refuses`, for a batch in which the operation with this index is rejected. */
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
  t.match(answer.message, /^[A-Z].+\.$/s, `${expectation}: in sentences`)
  for (const mention of mentions)
    t.ok(answer.message.includes(mention), `${expectation}: "${answer.message}" mentions ${mention}`)
}

/** A request and its expected response: the body of a 200, or the code of a rejection with excerpts of its message. */
export type Row = readonly [route: string, body: Body, answer: string, ...mentions: readonly string[]]

/** Sends requests in turn and checks each response against its row. */
export async function answers(t: Test, post: Client['post'], rows: readonly Row[], token?: string): Promise<void> {
  for (const [route, body, answer, ...mentions] of rows) {
    const found = await post(route, body, token === undefined ? {} : { token })
    const expectation = `${route} ${typeof body === 'string' ? body : JSON.stringify(body)}`.slice(0, 200)
    if (answer.startsWith('{')) gives(t, found, answer, expectation)
    else refuses(t, found, statuses[answer] ?? 400, answer, expectation, ...mentions)
  }
}

/** The statuses of the codes whose status is not 400. */
const statuses: Readonly<Record<string, number>> = {
  forbidden_operation: 403,
  forbidden_path: 403,
  unsatisfied_constraint: 409,
  since_gone: 410,
}
