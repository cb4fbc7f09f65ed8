/**
 * What typia generates from the types of messages.ts: the validators of requests and of what answers them. It loads no
 * other file. What the tags in the comments of the types mean is said in api/validators.ts.
 */
import typia, { type IValidation } from 'typia'
import type { KeyRecord } from '../../keys/record.js'
import type { AnswerLine, ErrorLine, KeyAnswerText, Reloaded, RequestText } from './messages.js'

/** A request on the control socket. */
export const validateControlRequest: (input: unknown) => IValidation<RequestText> =
  typia.createValidateEquals<RequestText>()

/** What the service sends. */
export const isErrorLine: (input: unknown) => input is ErrorLine = typia.createIs<ErrorLine>()
export const isAnswerLine: (input: unknown) => input is AnswerLine = typia.createIs<AnswerLine>()
export const isReloaded: (input: unknown) => input is Reloaded = typia.createIs<Reloaded>()
export const isKeyAnswer: (input: unknown) => input is KeyAnswerText = typia.createIs<KeyAnswerText>()

/** Whether an API key may have this name. */
export const isNamed: (key: Pick<KeyRecord, 'name'>) => boolean = typia.createIs<Pick<KeyRecord, 'name'>>()
