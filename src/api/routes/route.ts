/**
 * A route of the API as one object: who may use it, how its requests are read and answered, and how it is described. The
 * service, the API description and the tests of all routes are loops over the list in routes.ts.
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
 * A POST route below /topics/. Its parser turns a body into a `Request`, which only its own handler gets: as methods, both
 * fit a list of routes with requests of their own.
 */
export interface ApiRoute<Request extends object = object> extends Description {
  readonly name: string
  /** True if requests change nothing, so that they may be refused even once their answers are known. */
  readonly isRead: boolean
  readonly asksHeaders?: boolean
  /** The operations that a key must be allowed for any request. */
  readonly needs: readonly Operation[]
  /** @param bytes valid until the first await */
  parse(bytes: Buffer, context: ApiContext, headers: Ongoing['headers']): Request | Problem
  /** Checks which topics the key may touch. */
  handle(context: ApiContext, request: Request, access: Access, ongoing: Ongoing): Awaitable<Answer>
  /** Begins to take a body of lines, and reads headers. Undefined for a route that takes no lines. */
  readonly openUpload?: (uploads: UploadContext, ongoing: Ongoing, inlet: Inlet) => Upload
}

/** Paths and codes that all routes share are in openapi/. */
interface Description {
  /** What a generated client calls it: the route's name and its object, since `fetch` alone would shadow the platform's. */
  readonly operationId: string
  readonly summary: string
  /** The types of a request, and of a 200. */
  readonly bodies: SchemaCollection
  readonly answers: SchemaCollection
  /** The meaning of a 200. */
  readonly answered: string
  /** Statuses besides those that any route answers with. */
  readonly statuses: readonly number[]
  /**
   * A test sends those of all routes to one service, and compares every answer with the one written here: first those of the
   * routes that create and set topics, then the others in the order of routes.ts.
   */
  readonly examples: readonly Example[]
  /** Bodies besides JSON, by media type. */
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
