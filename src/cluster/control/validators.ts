/**
 * What typia generates from the types of messages.ts: the validators of requests and of their responses. It loads no
 * other file. What the tags in the comments of the types mean is said in api/bodies/bodies.ts.
 */
import typia, { type IValidation } from 'typia'
import type { ControlRequest, ErrorLine, ResponseLine, Responses } from './messages.js'

/** A request on the control socket. */
export const validateControlRequest: (input: unknown) => IValidation<ControlRequest<string>> =
  typia.createValidateEquals<ControlRequest<string>>()

/** What the service sends. */
export const isErrorLine: (input: unknown) => input is ErrorLine = typia.createIs<ErrorLine>()

/** Whether a line responds to a request with this command. */
export const isResponseLine: {
  readonly [Command in keyof Responses]: (input: unknown) => input is ResponseLine<Command>
} = {
  addKey: typia.createIs<ResponseLine<'addKey'>>(),
  rotateKey: typia.createIs<ResponseLine<'rotateKey'>>(),
  revokeKey: typia.createIs<ResponseLine<'revokeKey'>>(),
  listKeys: typia.createIs<ResponseLine<'listKeys'>>(),
  keysChanged: typia.createIs<ResponseLine<'keysChanged'>>(),
  reload: typia.createIs<ResponseLine<'reload'>>(),
}
