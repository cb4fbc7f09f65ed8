/**
 * The service for the HTTP layer: the routes, the lookup of callers, and the wire format of rejections and failures.
 * Each route's handler does the actual work.
 */

import type { Access } from '../auth/access.js'
import { describeAuthorization } from '../auth/authorization.js'
import type { Keyring } from '../auth/keyring.js'
import { Cancelled } from '../base/cancellation.js'
import { PacedBound } from '../base/paced-bound.js'
import { inSlice, inTurn, isTurnSpent } from '../base/time-slices.js'
import type { Answer, Route, Service } from '../http/answer.js'
import { StoreError } from '../store/errors.js'
import { linesAtOnceMax, type UploadContext } from './batch/upload.js'
import { type AdminAddress, createConsole } from './console/console.js'
import type { Primary } from './console/primary.js'
import { type ApiContext, refuse } from './context.js'
import { compressingRoutes } from './gzip.js'
import { createPages } from './pages.js'
import { type Problem, type ProblemCode, problem } from './problems.js'
import { type ApiRoute, answerRequest, pathOf } from './routes/route.js'
import { apiRoutes } from './routes/routes.js'

interface ServiceOptions {
  readonly context: ApiContext
  readonly keyring: Keyring
  /** Without a trailing slash; empty for none. */
  readonly basePath: string
  readonly bodyBytesMax: number
  readonly uploadBytesMax: number
  readonly hasConsole: boolean
  readonly admin: AdminAddress
  readonly compresses: boolean
  /** The address of this process, as `host:port`. */
  readonly address: string
  /** Called for each failure of our code or of the machine. */
  readonly onFailure: (error: unknown) => void
  readonly onRefusedKey: () => void
  readonly primary: Primary
  readonly answered: Service<Access>['answered']
  readonly closed: Service<Access>['closed']
}

export function createService(options: ServiceOptions): Service<Access> {
  const { context, keyring, basePath, onFailure, onRefusedKey, answered, closed } = options
  const problemFor = (error: unknown): Problem => {
    if (!(error instanceof StoreError)) onFailure(error)
    return problem(error instanceof StoreError ? codes[error.kind] : 'internal_error')
  }
  const uploads: UploadContext = {
    ...context,
    lineBytesMax: options.bodyBytesMax,
    uploadBytesMax: options.uploadBytesMax,
    kept: { bytes: 0 },
    linesAtOnce: new PacedBound(linesAtOnceMax),
    problemFor,
  }
  const serve = (route: ApiRoute): Route<Access> => {
    const { isRead, asksHeaders = false, openUpload } = route
    return {
      path: `${basePath}${pathOf(route)}`,
      isRead,
      asksHeaders,
      handle: (body, access, ongoing) => begin(body, (bytes) => answerRequest(route, context, bytes, access, ongoing)),
      upload: openUpload && ((ongoing, inlet) => openUpload(uploads, ongoing, inlet)),
    }
  }
  const compressing = compressingRoutes<Access>()
  const routes = apiRoutes.map((route) =>
    options.compresses && route.isRead ? compressing(serve(route)) : serve(route),
  )
  const routePaths = routes.map(({ path }) => path)
  const { pageSizeMax, batchOperationsMax } = context
  const { hasConsole, admin, address } = options
  const refusal = createRefusal(keyring, routePaths.join(', '), options.bodyBytesMax)
  const authenticate: Service<Access>['authenticate'] = (authorization) => {
    const access = keyring.find(authorization)
    if (access === undefined && keyring.isKnown()) onRefusedKey()
    return access
  }
  const refuseBeyondRate: Service<Access>['refuseBeyondRate'] = ({ rateLimit }) => {
    if (rateLimit === undefined || rateLimit.tryTake()) return undefined
    return { ...refuse(problem('too_many_requests')), headers: [['retry-after', String(rateLimit.retrySeconds)]] }
  }
  const { primary } = options
  const own = hasConsole
    ? createConsole({ basePath, pageSizeMax, admin, authenticate, refuseBeyondRate, refusal, primary })
    : { routes: [], pages: [] }
  return {
    routes: [...routes, ...own.routes],
    pages: [
      ...createPages({ basePath, address, routes: routePaths, hasConsole, pageSizeMax, batchOperationsMax }),
      ...own.pages,
    ],
    refusal,
    answered,
    closed,
    authenticate,
    refuseBeyondRate,
    answerForError(error) {
      return error instanceof Cancelled ? undefined : refuse(problemFor(error))
    },
  }
}

/** Larger bodies may take a long time to parse. */
const shortBodyBytesMax = 1024

/** Members that may take a long time to plan or match. A name with escapes contains a backslash. */
const longWords = ['selector', 'REMOVAL', '\\'] as const

/**
 * Starts a request and counts its time in the current turn. If earlier requests have used up the turn's time, a request that
 * may take a long time waits for a slice, with a copy of its body. Any other request, such as a fetch by path, is handled now.
 */
function begin(body: Buffer, handle: (bytes: Buffer) => Answer | Promise<Answer>): Answer | Promise<Answer> {
  if (!isTurnSpent() || !mayTakeLong(body)) return inTurn(() => handle(body))
  const bytes = Buffer.from(body)
  return Promise.resolve(inSlice(() => kept(handle(bytes))))
}

function mayTakeLong(body: Buffer): boolean {
  return body.length > shortBodyBytesMax || longWords.some((word) => body.includes(word))
}

/** Copies the response's body, because the store may reuse its bytes before a later turn sends them. */
function kept(answer: Answer | Promise<Answer>): Answer | Promise<Answer> {
  if (answer instanceof Promise || typeof answer.body === 'string') return answer
  return { ...answer, body: Buffer.from(answer.body) }
}

function createRefusal(keyring: Keyring, routes: string, bodyBytesMax: number): Service<Access>['refusal'] {
  return (refusal, found = '') => {
    switch (refusal) {
      case 'unauthorized': {
        // Until the keys have been read, an unknown key may be valid.
        if (!keyring.isKnown()) return refuse(problem('store_unavailable'))
        const hasExpired = keyring.hasExpired(found)
        return refuse(problem(refusal, { found: hasExpired ? 'its token has expired' : describeAuthorization(found) }))
      }
      case 'unknown_route':
        return refuse(problem(refusal, { allowed: routes }))
      case 'method_not_allowed': {
        const allowed = found.replace(', ', ' and ')
        return { ...refuse(problem(refusal, { allowed })), headers: [['allow', found]] }
      }
      case 'unsupported_encoding':
        return refuse(problem(refusal, { found }))
      case 'body_too_large':
        return refuse(problem(refusal, { bytes: found || String(bodyBytesMax) }))
      case 'empty_body':
        return refuse(problem('invalid_json', { problem: 'it is empty' }))
      default:
        return refuse(problem(refusal))
    }
  }
}

const codes = {
  retry: 'write_conflict',
  unknown_outcome: 'unknown_outcome',
  full: 'disk_nearly_full',
  unavailable: 'store_unavailable',
} as const satisfies Record<StoreError['kind'], ProblemCode>
