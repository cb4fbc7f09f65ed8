/**
 * Detects from outside that a worker drains: /healthz reports it on connections that were opened earlier.
 */
import type { RawConnection } from './raw.js'
import { type Server, until } from './server.js'

/** Connections that request /healthz in turn, each once. */
const probesMax = 200

/** Sends SIGTERM to a server with one worker; resolves when the worker drains, with the response that reported it. */
export async function beginDrain(server: Server): ReturnType<RawConnection['answer']> {
  const probes = await Promise.all(Array.from({ length: probesMax }, () => server.raw()))
  server.signal('SIGTERM')
  return until('the worker drains', async () => {
    const probe = probes.pop()
    await probe?.write('GET /healthz HTTP/1.1\r\nhost: topicd\r\n\r\n')
    const answer = await probe?.answer()
    return answer?.status === 200 ? undefined : answer
  })
}
