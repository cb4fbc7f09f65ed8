/**
 * A route of the API as one object: the permissions it needs, its parser and handler, and its description. The service, the
 * API description and the tests of all routes loop over the list in routes.ts.
 */
import type { Access } from '../../auth/access.js'
import type { Awaitable } from '../../base/awaitable.js'
import type { Answer, Inlet, Ongoing, Upload } from '../../http/answer.js'
import type { Operation } from '../../keys/record.js'
import type { UploadContext } from '../batch/upload.js'
import type { SchemaCollection } from '../bodies/shape.js'
import { type ApiContext, operationProblem, refuse } from '../context.js'
import { isProblem, type Problem } from '../problems.js'

/**
 * A POST route below /topics/. Its parser turns a body into a `Request`, which only its own handler gets. Both are methods, so
 * that routes with different types of `Request` fit into one list.
 */
export interface ApiRoute<Request extends object = object> extends Description {
  readonly name: string
  /** True if requests change nothing, so a request may be rejected even after its response is known. */
  readonly isRead: boolean
  readonly asksHeaders?: boolean
  /** The operations that a key must be allowed to use, for any request. */
  readonly needs: readonly Operation[]
  /** @param bytes valid until the first await */
  parse(bytes: Buffer, context: ApiContext, headers: Ongoing['headers']): Request | Problem
  /** Also checks whether the key may access the topics. */
  handle(context: ApiContext, request: Request, access: Access, ongoing: Ongoing): Awaitable<Answer>
  /** Starts receiving a body that consists of lines; `ongoing.headers` is always set. Undefined if the route takes no such body. */
  readonly openUpload?: (uploads: UploadContext, ongoing: Ongoing, inlet: Inlet) => Upload
}

/** The part of the API description that is specific to a route; the common part is in openapi/. */
interface Description {
  /** The name in generated clients: the route's name and its object, because `fetch` alone would shadow the platform's. */
  readonly operationId: string
  readonly summary: string
  /** The types of request bodies and, in `answers`, of the bodies for status 200. */
  readonly bodies: SchemaCollection
  readonly answers: SchemaCollection
  /** The meaning of status 200. */
  readonly answered: string
  /** Statuses in addition to those of every route. */
  readonly statuses: readonly number[]
  /**
   * A test sends the examples of all routes to one service, and compares every response with `answer`. It starts with the
   * routes that create and set topics; the others follow in the order of routes.ts.
   */
  readonly examples: readonly Example[]
  /** Bodies other than JSON, by media type. */
  readonly otherBodies?: object
  readonly otherAnswers?: object
}

export interface Example {
  readonly name: string
  readonly summary: string
  readonly request: object
  readonly answer: object
}

/** Below the base path. */
export function pathOf({ name }: ApiRoute): string {
  return `/topics/${name}`
}

export function answerRequest(
  route: ApiRoute,
  context: ApiContext,
  bytes: Buffer,
  access: Access,
  ongoing: Ongoing,
): Awaitable<Answer> {
  const request = operationProblem(access, route.needs) ?? route.parse(bytes, context, ongoing.headers)
  return isProblem(request) ? refuse(request) : route.handle(context, request, access, ongoing)
}
