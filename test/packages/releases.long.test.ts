/**
 * Stores written by earlier releases open under this one: nothing in them is lost or changed, and they accept writes. `npm run release`
 * keeps one store of each release.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { connect } from '../../dist/client/index.js'
import { runCommand, startServer } from '../support/service/server.js'

const kept = join(import.meta.dirname, '../../test/releases')

/** The token of the key "full" in every store. */
const token = 'topicd_NyXLupZdGYjw1CisXqY19H3Z6I0tgXGTSng1L1h--Eg'

const versions = readdirSync(kept)
  .filter((name) => name.endsWith('.mdb.gz'))
  .map((name) => name.replace('.mdb.gz', ''))

t.ok(versions.length > 0, 'there is a store of each release')

for (const version of versions) {
  await t.test(`the store of ${version} opens unchanged and accepts writes`, async (t) => {
    const directory = join(t.testdir(), 'data')
    mkdirSync(join(directory, 'topics'), { recursive: true })
    writeFileSync(join(directory, 'topics/data.mdb'), gunzipSync(readFileSync(join(kept, `${version}.mdb.gz`))))
    const flags = ['--data', directory]
    const checked = await runCommand(['check', ...flags])
    t.equal(checked.code, 0, checked.stderr)
    const exported = await runCommand(['export', '--with-keys', ...flags])
    const before = readFileSync(join(kept, `${version}.ndjson`), 'utf8')
    t.equal(exported.stdout, before, 'every topic and key is as it was')

    const { port } = await startServer(t, { dataDir: directory, token })
    const client = connect(`http://127.0.0.1:${port}`, { key: token })
    t.equal((await client.get('numbers'))?.text, '[1.50,1e400,-0.0,123456789012345678901234567890,0.1000]')
    t.strictSame(await client.set('numbers', 1), { path: 'numbers' })
    t.equal((await client.get('numbers'))?.text, '1')
    t.strictSame(await client.addAndSet('new', 2), { path: 'new', created: true })
  })
}
