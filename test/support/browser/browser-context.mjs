/**
 * Runs the built client where only the globals of a browser exist, and nothing but its own files can be imported:
 *
 *     node --experimental-vm-modules test/support/browser/browser-context.mjs URL KEY
 *
 * It prints, as JSON, what a few requests to the service returned, the first of them with a connection that fails once.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import vm from 'node:vm'

const folder = resolve(import.meta.dirname, '../../../dist/client')
const [url, key] = process.argv.slice(2)

let calls = 0
/** As in a browser, `this` must be absent or the global object, and a failure says nothing. */
function fetchOfBrowser(...args) {
  if (this !== undefined && this !== context) throw new TypeError('Illegal invocation')
  return ++calls === 1 ? Promise.reject(new TypeError('Failed to fetch')) : fetch(...args)
}

const context = vm.createContext({
  ...{ URL, Headers, Response, AbortController, AbortSignal, DOMException, setTimeout, clearTimeout },
  ...{ EventTarget, Event, CustomEvent, TextDecoder, performance },
  fetch: fetchOfBrowser,
})

const modules = new Map()

function load(specifier, importer) {
  const file = join(dirname(importer), specifier)
  if (!specifier.startsWith('.') || !file.startsWith(folder)) throw new Error(`${importer} imports ${specifier}`)
  let module = modules.get(file)
  if (module === undefined) {
    module = new vm.SourceTextModule(readFileSync(file, 'utf8'), { context, identifier: file })
    modules.set(file, module)
  }
  return module
}

const client = load('./index.js', join(folder, 'entry'))
await client.link((specifier, { identifier }) => load(specifier, identifier))
await client.evaluate()

const { connect, jsonText, subtree } = client.namespace
const topics = connect(url, { key, timeoutMs: 30_000 })
await topics.addAndSet('browser/a.b', jsonText('1.10'))
const texts = []
for await (const { path, text } of topics.walk(subtree('browser'), { size: 1 })) texts.push(path, text)
const refused = await topics.set('browser/none', 1).catch(({ status, code }) => [status, code])
const live = topics.follow(subtree('browser'))
await live.ready
const followed = [...live.topics.keys()]
live.close()
const { removed } = await topics.removeMatches(subtree('browser'))
console.log(JSON.stringify({ modules: modules.size, texts, refused, followed, removed, calls }))
