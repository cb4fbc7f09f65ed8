/**
 * Uploads by the default HTTP clients of several languages, in chunks and with a length. Each client reads the whole response,
 * although it starts while the client is still sending, and sees why an upload is rejected. A client that is not installed is
 * skipped, and the reason is reported.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import { clientFile, compiled, missing, pythonWith } from '../support/installed.js'
import { startServer } from '../support/service/server.js'
import type { UploadLine } from '../support/service/upload.js'
import { tied } from '../support/tied.js'

/** Some clients are compiled first, which takes seconds, or longer on a busy machine. */
const clientMsMax = 90_000

t.setTimeout(600_000)

/** Enough for a response to start while a client is still sending. */
const lineCount = 20_000
const refusedCount = lineCount / 500

const server = await startServer(t, { workers: 1 })
const url = `${server.url}/topics/batch`

interface Reply {
  readonly status: number
  readonly text: string
}

/** An HTTP client that uploads lines. */
interface Client {
  /** Its name in paths. */
  readonly name: string
  /** Why it cannot run here; false if it can. */
  readonly skip: string | false
  readonly upload: (name: string, token: string) => Promise<Reply>
}

/** The lines that each client sends, with its own topics. */
function* linesOf(name: string): Iterable<string> {
  for (let i = 0; i < lineCount; i++) {
    const operation = i % 500 === 250 ? '"set","path":"none' : '"addAndSet","path":"up'
    yield `{"op":${operation}/${name}/${i}","value":${i}}\n`
  }
}

function headersFor(token: string): Readonly<Record<string, string>> {
  return { authorization: `Apikey ${token}`, 'content-type': 'application/x-ndjson' }
}

/** A client that is a process. It prints the body of the response and then its status, and may read the lines. */
function command(name: string, skip: string | false, line: (token: string) => readonly string[]): Client {
  const upload = async (name: string, token: string): Promise<Reply> => {
    const env = { ...process.env, URL: url, TOKEN: token, NAME: name, LINES: String(lineCount) }
    const [program = '', ...args] = line(token)
    const child = spawn(...tied(program, args), { env, stdio: 'pipe', timeout: clientMsMax })
    child.stdin.on('error', () => {})
    Readable.from(linesOf(name)).pipe(child.stdin)
    const [printed, problems] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
    const [, text = '', status] = /^(.*)\n(\d{3})\n$/s.exec(printed) ?? []
    assert(status !== undefined, `${name} printed\n${printed}${problems}`)
    return { status: Number(status), text }
  }
  return { name, skip, upload }
}

function python(library: string, framing: 'chunked' | 'length'): Client {
  const { python, skip } = pythonWith(library)
  return command(`${library}-${framing}`, skip, () => [python, clientFile('upload.py'), library, framing])
}

function curl(name: string, ...body: readonly string[]): Client {
  return command(name, missing('curl', '--version'), (token) => {
    const headers = Object.entries(headersFor(token)).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    return ['curl', '-sS', '-X', 'POST', '-w', '\n%{http_code}\n', ...body, ...headers, url]
  })
}

async function uploadByRequest(name: string, token: string): Promise<Reply> {
  const outgoing = request(url, { method: 'POST', headers: headersFor(token) })
  Readable.from(linesOf(name)).pipe(outgoing)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: incoming.statusCode ?? 0, text: await textOf(incoming) }
}

async function uploadByFetch(body: string | ReadableStream, token: string): Promise<Reply> {
  const response = await fetch(url, { method: 'POST', headers: headersFor(token), body, duplex: 'half' } as RequestInit)
  return { status: response.status, text: await response.text() }
}

const pieces = (name: string): ReadableStream => Readable.toWeb(Readable.from(linesOf(name)).map(Buffer.from))

// A client is compiled when it first runs. The test's directory exists because the server has been started.
const goProgram = join(t.testdirName, 'upload')
const javaClass = join(t.testdirName, 'Upload.class')

const go = (framing: 'chunked' | 'length'): Client =>
  command(`go-${framing}`, missing('go', 'version'), () => {
    if (!existsSync(goProgram)) compiled('go', 'build', '-o', goProgram, clientFile('upload.go'))
    return [goProgram, framing]
  })

const java = (kind: 'chunked' | 'length' | 'expect'): Client =>
  command(`java-${kind}`, missing('javac', '-version'), () => {
    if (!existsSync(javaClass)) compiled('javac', '-d', t.testdirName, clientFile('Upload.java'))
    return ['java', '-cp', t.testdirName, 'Upload', kind]
  })

const clients: readonly Client[] = [
  { name: 'request', skip: false, upload: uploadByRequest },
  { name: 'fetch-chunked', skip: false, upload: (name, token) => uploadByFetch(pieces(name), token) },
  { name: 'fetch-length', skip: false, upload: (name, token) => uploadByFetch([...linesOf(name)].join(''), token) },
  curl('curl-chunked', '-T', '-'),
  curl('curl-length', '--data-binary', '@-'),
  python('http.client', 'chunked'),
  python('http.client', 'length'),
  python('requests', 'chunked'),
  python('requests', 'length'),
  python('httpx', 'chunked'),
  python('httpx', 'length'),
  go('chunked'),
  go('length'),
  java('chunked'),
  java('length'),
  java('expect'),
]

for (const { name, skip, upload } of clients) {
  t.test(`${name} reads the complete response to an upload, and an error response`, { skip }, async (t) => {
    const { status, text } = await upload(name, server.token)
    t.equal(status, 400, text.slice(0, 1000))
    const { lines, ...counts } = JSON.parse(text) as { lines: readonly UploadLine[] }
    t.match(counts, { code: 'upload_refused', durable: lineCount - refusedCount, refused: refusedCount })
    t.strictSame(
      lines.map(({ line }) => line),
      Array.from({ length: refusedCount }, (_, i) => 500 * i + 251),
    )
    const found = await server.post('fetch', { selector: `*up/${name}//`, count: true })
    t.equal(found.text, `{"count":${lineCount - refusedCount}}`)
    const refused = await upload(name, 'unknown')
    t.equal(refused.status, 401, refused.text.slice(0, 1000))
    t.match(refused.text, '"code":"unauthorized"')
  })
}

t.test('no worker dies during the uploads of all clients', (t) => {
  t.equal(server.timesLogged('worker died'), 0)
  t.end()
})
