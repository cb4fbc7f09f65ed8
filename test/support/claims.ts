/**
 * The two things that most tests say of an answer: what it gives, or with which words it refuses.
 */
import type { Test } from 'tap'
import type { Answer } from './client.js'

/** The answer is a 200 with exactly this body, named for what it is. */
export function gives(t: Test, answer: Answer, body: string, claim: string): void {
  const { status, text } = answer
  t.strictSame(
    { status, type: answer.headers['content-type'], text },
    { status: 200, type: 'application/json', text: body },
    claim,
  )
}

/**
 * The answer is a refusal with this status and code, in the shape that every refusal has, its message one sentence that
 * mentions what it should.
 */
export function refuses(
  t: Test,
  answer: Answer,
  status: number,
  code: string,
  claim: string,
  ...mentions: readonly string[]
): void {
  const found = { status: answer.status, type: answer.headers['content-type'], code: answer.code, text: answer.text }
  const text = JSON.stringify({ code, message: answer.message })
  t.strictSame(found, { status, type: 'application/json', code, text }, claim)
  t.match(answer.message, /^[A-Z].+\.$/s, `${claim}: in one sentence`)
  for (const mention of mentions)
    t.ok(answer.message.includes(mention), `${claim}: "${answer.message}" mentions ${mention}`)
}
