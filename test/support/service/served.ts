/**
 * The HTTP layer in the test's own process, in front of routes that the test defines. Decisions of the service behind it are replaced:
 * every caller is known, and a rejection is just its code.
 */
import type { Test } from 'tap'
import type { Answer, Refusal, Route, Service } from '../../../dist/http/answer.js'
import { type HttpServer, startHttpServer } from '../../../dist/http/server.js'
import { emptyAnswerRoom } from '../../../dist/http/unread.js'
import { freePorts } from '../machines/ports.js'
import { RawConnection } from './raw.js'

interface Served {
  readonly server: HttpServer
  readonly connect: () => Promise<RawConnection>
}

const statuses: Partial<Record<Refusal, number>> = { overloaded: 503, timed_out: 503 }

/** Serves the routes until the test ends. */
export async function serveRoutes(t: Test, routes: readonly Route<object>[]): Promise<Served> {
  const refusal = (code: Refusal): Answer => ({ status: statuses[code] ?? 400, body: JSON.stringify({ code }) })
  const service: Service<object> = {
    routes,
    pages: [],
    authenticate: () => service,
    refuseBeyondRate: () => undefined,
    refusal,
    answerForError: (error) => ({ status: 500, body: String(error) }),
    answered() {},
    closed() {},
  }
  const [port = 0] = await freePorts(1)
  const limits = {
    bodyBytesMax: 1_000_000,
    uploadBytesMax: 1_000_000,
    answerRoom: emptyAnswerRoom(),
  }
  const server = await startHttpServer(service, { host: '127.0.0.1', port, origins: '', tls: undefined, ...limits })
  t.teardown(() => server.close())
  return { server, connect: () => RawConnection.open('127.0.0.1', port) }
}
