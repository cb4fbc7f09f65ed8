/**
 * Chunked bodies as common HTTP clients of several languages send them: each call is answered like any other, and so is
 * the next one. A client that is not installed is skipped with the reason.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { first } from '../support/elements.js'
import { refuses } from '../support/expected-answers.js'
import { missing } from '../support/installed.js'
import { startServer } from '../support/service/server.js'
import { tied } from '../support/tied.js'

/** Some clients are compiled first, which takes seconds, and many on a busy machine. */
const clientMsMax = 90_000

const server = await startServer(t, { workers: 2, flags: ['--body-bytes-max', '65536'] })
const url = `${server.url}/topics/addAndSet`
const headers = { authorization: `Apikey ${server.token}`, 'content-type': 'application/json' }
const environment = { ...process.env, URL: url, TOKEN: server.token }

/** Runs a client to its end: what it printed, line by line. */
async function run(command: string, args: readonly string[], input = ''): Promise<readonly string[]> {
  const child = spawn(...tied(command, args), { env: environment, stdio: 'pipe', timeout: clientMsMax })
  child.stdin.on('error', () => {}).end(input)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  return output.trim().split('\n')
}

/** What every client prints for a first body, for the same again, and for one that is too large. */
function expected(path: string): readonly string[] {
  return [`200 {"path":"${path}","created":true}`, `200 {"path":"${path}","created":false}`, '413 body_too_large']
}

/** The body that a client sends in its call with this number, in two pieces. */
function pieces(path: string, call: number): readonly [string, string] {
  return [`{"path":"${path}",`, `"value":"${'x'.repeat(call < 3 ? 3 : 70_000)}"}`]
}

function line(status: number, text: string): string {
  return status === 200 ? `200 ${text}` : `${status} ${(JSON.parse(text) as { code: string }).code}`
}

t.test('Node.js http.request with several writes is answered, call after call over a keep-alive agent', async (t) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const lines: string[] = []
  for (const call of [1, 2, 3]) {
    const outgoing = request(url, { method: 'POST', headers, agent })
    for (const piece of pieces('node', call)) outgoing.write(piece)
    outgoing.end()
    const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage]
    lines.push(line(incoming.statusCode ?? 0, (await incoming.setEncoding('utf8').toArray()).join('')))
    t.equal(incoming.headers.connection, 'close', `call ${call}: the connection is closed`)
  }
  t.strictSame(lines, expected('node'))
})

t.test('fetch with a stream is answered, and then calls with a length over the same pool', async (t) => {
  const lines: string[] = []
  for (const call of [1, 2, 3]) {
    const body = Readable.toWeb(Readable.from(pieces('fetch', call).map((piece) => Buffer.from(piece))))
    const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    lines.push(line(response.status, await response.text()))
  }
  t.strictSame(lines, expected('fetch'))
  for (let i = 0; i < 10; i++) {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ path: 'fetch', value: i }) })
    t.equal(await response.text(), '{"path":"fetch","created":false}', `call ${i} after it`)
  }
})

t.test('curl -T - is answered', { skip: missing('curl', '--version') }, async (t) => {
  const common = [
    '-s',
    '-X',
    'POST',
    '-T',
    '-',
    '-H',
    `authorization: ${headers.authorization}`,
    '-H',
    'content-type: application/json',
  ]
  const lines: string[] = []
  for (const call of [1, 2, 3]) {
    const output = await run('curl', [...common, '-w', '\n%{http_code}', url], pieces('curl', call).join(''))
    lines.push(line(Number(output[1]), first(output)))
  }
  t.strictSame(lines, expected('curl'))
})

const pythonBodies = `
import json, os, http.client, urllib.parse
url, token = os.environ['URL'], os.environ['TOKEN']
headers = {'authorization': 'Apikey ' + token, 'content-type': 'application/json'}
def pieces(path, call):
    yield ('{"path":"%s",' % path).encode()
    yield ('"value":"%s"}' % ('x' * (3 if call < 3 else 70000))).encode()
def show(status, text):
    print(status, text if status == 200 else json.loads(text)['code'], flush=True)
`

t.test('Python http.client with a generator is answered', { skip: missing('python3', '--version') }, async (t) => {
  const script = `${pythonBodies}
target = urllib.parse.urlsplit(url)
for call in (1, 2, 3):
    connection = http.client.HTTPConnection(target.hostname, target.port)
    connection.request('POST', target.path, pieces('http.client', call), headers, encode_chunked=True)
    response = connection.getresponse()
    show(response.status, response.read().decode())
`
  t.strictSame(await run('python3', ['-c', script]), expected('http.client'))
})

t.test(
  'a session of Python requests with a generator is answered',
  { skip: missing('python3', '-c', 'import requests') },
  async (t) => {
    const script = `${pythonBodies}
import requests
session = requests.Session()
for call in (1, 2, 3):
    response = session.post(url, data=pieces('requests', call), headers=headers)
    show(response.status_code, response.text)
`
    t.strictSame(await run('python3', ['-c', script]), expected('requests'))
  },
)

const java = `
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.*;
public class Chunks {
    public static void main(String[] args) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        for (int call = 1; call <= 4; call++) {
            byte[] body = ("{\\"path\\":\\"java\\",\\"value\\":\\"" + "x".repeat(call == 3 ? 70000 : 3) + "\\"}").getBytes();
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("URL")))
                .header("authorization", "Apikey " + System.getenv("TOKEN")).header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)));
            if (call == 4) request.expectContinue(true);
            HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            String code = response.body().replaceAll(".*\\"code\\":\\"(\\\\w+)\\".*", "$1");
            System.out.println(response.statusCode() + " " + code);
        }
    }
}
`

t.test(
  'Java HttpClient with an input stream is answered, with expectContinue too',
  { skip: missing('java', '-version') },
  async (t) => {
    const file = join(t.testdir(), 'Chunks.java')
    writeFileSync(file, java)
    t.strictSame(
      await run('java', [file]),
      [...expected('java'), '200 {"path":"java","created":false}'],
      'it gets the 100 that it waits for',
    )
  },
)

const go = `
package main
import ("fmt"; "io"; "net/http"; "os"; "regexp"; "strings")
func main() {
    for call := 1; call <= 3; call++ {
        size := 3
        if call == 3 { size = 70000 }
        body := io.MultiReader(strings.NewReader("{\\"path\\":\\"go\\","), strings.NewReader("\\"value\\":\\"" + strings.Repeat("x", size) + "\\"}"))
        request, _ := http.NewRequest("POST", os.Getenv("URL"), body)
        request.Header.Set("authorization", "Apikey " + os.Getenv("TOKEN"))
        request.Header.Set("content-type", "application/json")
        response, err := http.DefaultClient.Do(request)
        if err != nil { fmt.Println(err); continue }
        text, _ := io.ReadAll(response.Body)
        code := regexp.MustCompile("\\"code\\":\\"(\\\\w+)\\"").FindSubmatch(text)
        if code != nil { text = code[1] }
        fmt.Println(response.StatusCode, string(text))
    }
}
`

t.test('Go net/http with a reader of unknown length is answered', { skip: missing('go', 'version') }, async (t) => {
  const file = join(t.testdir(), 'chunks.go')
  writeFileSync(file, go)
  t.strictSame(await run('go', ['run', file]), expected('go'))
})

t.test('afterwards the service still answers, and no worker has died', async (t) => {
  refuses(t, await server.post('fetch', { path: 'none' }), 400, 'no_such_topic', 'it answers')
  t.equal(server.timesLogged('worker died'), 0, 'no worker died')
})
