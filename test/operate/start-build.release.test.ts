/**
 * `npm start` builds everything the first time, nothing if nothing has changed, and again after a change. It reports each build, and starts
 * nothing after a failed one. The test runs in a copy of this checkout with a few lines of source and a compiler that copies them, because
 * `npm test` itself starts with a real build.
 */
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { root } from '../support/documents.js'

const checkout = t.testdir()
for (const path of ['package.json', 'package-lock.json', 'tsconfig.json', 'scripts', 'src/console/tsconfig.json'])
  cpSync(join(root, path), join(checkout, path), { recursive: true })

function write(path: string, text: string): void {
  mkdirSync(dirname(join(checkout, path)), { recursive: true })
  writeFileSync(join(checkout, path), text)
}

for (const compiler of ['.bin/tspc', 'typescript-7/bin/tsc', '.bin/esbuild'].map((name) => `node_modules/${name}`)) {
  write(
    compiler,
    `#!/bin/sh
grep -q missing src/main.ts && { echo 'src/main.ts: an error'; exit 2; }
mkdir -p dist && cp src/main.ts dist/main.js
mkdir -p dist/tools && echo "import typia from 'typia';" >dist/tools/validators.js
`,
  )
  chmodSync(join(checkout, compiler), 0o755)
}
write('src/main.ts', "console.log('started with', process.argv.slice(2).join(' '))\n")
write('src/console/topics/main.ts', "document.title = 'topics'\n")
write('src/console/static/style.css', 'p { color: red }\n')

/** Runs `npm start` in the copy to its end. */
function start(): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    execFile('npm', ['start'], { cwd: checkout }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
}

const building = 'Building'

await t.test('the first start builds the program and reports that it does', async (t) => {
  const { code, output } = await start()
  t.equal(code, 0)
  t.match(output, new RegExp(`${building}[\\s\\S]*started with serve --first-key`), output)
})

await t.test('a second start does not build the program again', async (t) => {
  const { code, output } = await start()
  t.equal(code, 0)
  t.notMatch(output, building)
  t.match(output, 'started with serve --first-key')
})

await t.test('a failed build is reported, and no older build is started', async (t) => {
  write('src/main.ts', 'console.log(missing)\n')
  const { code, output } = await start()
  t.not(code, 0)
  t.match(output, /src\/main\.ts: an error[\s\S]*The build failed/, 'the reason is reported')
  t.notMatch(output, 'started with')
})

await t.test('a start builds the program again after a source file has changed', async (t) => {
  write('src/main.ts', "console.log('repaired')\n")
  t.match((await start()).output, new RegExp(`${building}[\\s\\S]*repaired`))
})
