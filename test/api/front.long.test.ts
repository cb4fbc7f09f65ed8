/**
 * The root of the routes' port: it redirects to the console or, without the console, lists the routes, also with a base path.
 */
import t, { type Test } from 'tap'
import { type Server, startServer } from '../support/service/server.js'

t.setTimeout(600_000)

/** Does not follow redirects. */
function ask(url: string, method = 'GET'): Promise<Response> {
  return fetch(url, { method, redirect: 'manual' })
}

/** The URL of a path on the routes' port. */
const at = (server: Server, path: string) => new URL(path, server.url).href

async function leadsToConsole(t: Test, server: Server, path: string): Promise<void> {
  const answer = await ask(at(server, path))
  t.equal(answer.status, 302, path)
  t.equal(answer.headers.get('cache-control'), 'no-store')
  t.notMatch(answer.headers.get('location'), /^\/|:/, 'relative, for a proxy with another prefix')
  const followed = await fetch(at(server, path))
  t.equal(followed.url, `${server.url}/console`, `${path} leads to the console`)
  t.match(await followed.text(), '<!doctype html>')
  const head = await ask(at(server, path), 'HEAD')
  t.strictSame([head.status, head.headers.get('location')], [302, answer.headers.get('location')], 'HEAD')
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const refused = await ask(at(server, path), method)
    t.strictSame([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'], `${method} ${path}`)
  }
}

t.test('the root redirects browsers to the console and returns a list of pages to programs', async (t) => {
  const server = await startServer(t)
  await leadsToConsole(t, server, '/')
  const here = (await (await ask(at(server, '/'))).json()) as { readonly pages: readonly string[] }
  t.strictSame(here.pages, ['/healthz', '/openapi.json', '/client.js', '/console'])
  t.notMatch(server.output, /warning/i, 'the HTTP library prints no warnings')
})

t.test('the base path and the root above it redirect to the console', async (t) => {
  const server = await startServer(t, { flags: ['--base-path', '/x/y'] })
  for (const path of ['/', '/x/y', '/x/y/']) await leadsToConsole(t, server, path)
  for (const path of ['/x', '/x/', '/x/y/z', '/x/yz']) t.equal((await ask(at(server, path))).status, 404, path)
})

t.test('the root lists the remaining pages if the console is off', async (t) => {
  const server = await startServer(t, { flags: ['--no-console', '--base-path', '/x'] })
  for (const path of ['/', '/x', '/x/']) {
    const answer = await ask(at(server, path))
    t.equal(answer.status, 200, path)
    t.equal(answer.headers.get('content-type'), 'application/json')
    const { service, version, routes, pages } = (await answer.json()) as {
      readonly service: string
      readonly version: string
      readonly routes: readonly string[]
      readonly pages: readonly string[]
    }
    t.equal(service, 'topicd')
    t.match(version, /^\d+\.\d+\.\d+/)
    t.ok(routes.includes('/x/topics/fetch'))
    t.strictSame(pages, ['/x/healthz', '/x/openapi.json', '/x/client.js'])
    for (const page of pages) t.equal((await ask(at(server, page))).status, 200, page)
  }
  t.equal((await ask(at(server, '/'), 'POST')).status, 405)
})
