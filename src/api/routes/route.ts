/**
 * A route of the API as one object: who may use it, how its requests are read and answered, and how it is described. The
 * service, the API description and its tests are loops over all of them (routes.ts). Nothing here knows a single one.
 */
import type { Access } from '../../auth/access.js'
import type { Awaitable } from '../../base/awaitable.js'
import type { Answer, Inlet, Ongoing, Upload } from '../../http/answer.js'
import type { Operation } from '../../keys/record.js'
import type { UploadContext } from '../batch/upload.js'
import type { SchemaCollection } from '../bodies/shape.js'
import { type ApiContext, operationProblem, refuse } from '../context.js'
import { isProblem, type Problem } from '../problems.js'

/** A POST route below /topics/. `Request` is what its parser makes of a body. */
export interface ApiRoute<Request extends object = object> extends Description {
  /** The last part of its path. */
  readonly name: string
  /** Whether its requests change nothing, so that they may be refused even once their answers are known. */
  readonly isRead: boolean
  /** Whether it reads headers of its requests. */
  readonly asksHeaders?: boolean
  /** What a key must be allowed, whatever the request. */
  readonly needs: readonly Operation[]
  /** From the bytes of a request, valid until the first await, to one complete, checked request. */
  parse(bytes: Buffer, context: ApiContext, headers: Ongoing['headers']): Request | Problem
  /** Answers a request. It still checks which topics the key may touch. */
  handle(context: ApiContext, request: Request, access: Access, ongoing: Ongoing): Awaitable<Answer>
  /** Begins to take a body of lines; undefined for a route that takes none. It reads headers. */
  readonly openUpload?: (uploads: UploadContext, ongoing: Ongoing, inlet: Inlet) => Upload
}

/** How a route is described. Paths and codes that all routes share are in openapi/. */
interface Description {
  /** What a generated client calls it: the route's name and its object, since `fetch` alone would shadow the platform's. */
  readonly operationId: string
  readonly summary: string
  /** The types of a request, and of a 200. */
  readonly bodies: SchemaCollection
  readonly answers: SchemaCollection
  /** What a 200 means. */
  readonly answered: string
  /** Statuses besides those that any route answers with. */
  readonly statuses: readonly number[]
  /** A test sends those of all routes to one service, and compares every answer with the one written here. */
  readonly examples: readonly Example[]
  /** What it takes and answers besides JSON, by media type. */
  readonly otherBodies?: object
  readonly otherAnswers?: object
}

/** One request and its answer. */
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

/** The answer of a route to the bytes of a request. */
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
