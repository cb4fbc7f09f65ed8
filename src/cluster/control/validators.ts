/**
 * The validators of requests and responses, which typia generates from the types in messages.ts. This module loads no
 * other file. api/bodies/bodies.ts explains the tags in the comments of the types.
 */
import typia, { type IValidation } from 'typia'
import type { ControlRequest, ErrorLine, ResponseLine, Responses } from './messages.js'

export const validateControlRequest: (input: unknown) => IValidation<ControlRequest<string>> =
  typia.createValidateEquals<ControlRequest<string>>()

export const isErrorLine: (input: unknown) => input is ErrorLine = typia.createIs<ErrorLine>()

/** Validators of response lines, by the command of the request. */
export const isResponseLine: {
  readonly [Command in keyof Responses]: (input: unknown) => input is ResponseLine<Command>
} = {
  addKey: typia.createIs<ResponseLine<'addKey'>>(),
  rotateKey: typia.createIs<ResponseLine<'rotateKey'>>(),
  revokeKey: typia.createIs<ResponseLine<'revokeKey'>>(),
  listKeys: typia.createIs<ResponseLine<'listKeys'>>(),
  keysChanged: typia.createIs<ResponseLine<'keysChanged'>>(),
  overview: typia.createIs<ResponseLine<'overview'>>(),
  reload: typia.createIs<ResponseLine<'reload'>>(),
}
