/**
 * topicd itself, as `node dist/main.js serve` with an API key made by `keys add`: whatever revision its `dist` was built
 * from. Its home holds the data directory and, beside it, the token of the benchmark's key.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { processTree } from '../measure/cpu.js';
import { root } from '../measure/machine.js';
import { rightAnswers, selectorText } from '../work/operation.js';
import { startChild } from './child.js';
const run = promisify(execFile);
/** topicd as built in `dist`. */
export async function topicd(build) {
    const main = join(build.dist, 'main.js');
    return {
        name: build.name,
        version: build.version,
        missing: existsSync(main) ? undefined : `${main} is not there: run "npm run build" first`,
        homeKey: `topicd-${await storeFingerprint(build.dist)}`,
        durability: 'fsync before the answer',
        start: (setting) => start(build, setting),
    };
}
/** The topicd of this checkout. */
export const thisBuild = { name: 'topicd', dist: join(root, 'dist') };
/** The request of an operation, without its answers. */
export function topicdRequest(operation) {
    return { method: 'POST', path: `/topics/${route(operation)}`, body: body(operation) };
}
async function start(build, setting) {
    const main = join(build.dist, 'main.js');
    const data = join(setting.home, 'data');
    const tokenFile = join(setting.home, 'token');
    if (!existsSync(tokenFile)) {
        const { stdout } = await run(process.execPath, [main, 'keys', 'add', 'bench', '--data', data]);
        writeFileSync(tokenFile, stdout.trim(), { mode: 0o600 });
    }
    let url = '';
    const args = ['serve', '--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--data', data];
    const child = await startChild({
        command: process.execPath,
        args: [...(build.nodeOptions ?? []), main, ...args, '--workers', String(setting.workers)],
        ready: {
            line: (line) => {
                const logged = JSON.parse(line);
                if (logged.msg === 'listening')
                    url = logged.url ?? '';
                return url !== '';
            },
        },
    });
    return {
        port: Number(new URL(url).port),
        headers: { authorization: `Apikey ${readFileSync(tokenFile, 'utf8')}`, 'content-type': 'application/json' },
        blankDigits: false,
        pids: () => processTree(child.pid),
        exchange: (operation) => ({ ...topicdRequest(operation), answers: rightAnswers(operation) }),
        stop: child.stop,
    };
}
function route(operation) {
    switch (operation.kind) {
        case 'fetch':
        case 'page':
            return 'fetch';
        case 'overwrite':
        case 'create':
            return 'addAndSet';
        case 'add':
            return 'add';
        case 'remove':
            return 'remove';
    }
}
function body(operation) {
    switch (operation.kind) {
        case 'fetch':
        case 'add':
        case 'remove':
            return JSON.stringify({ path: operation.path });
        case 'page':
            return JSON.stringify({ selector: selectorText(operation.selector), size: operation.size, after: operation.after });
        case 'overwrite':
        case 'create':
            return `{"path":${JSON.stringify(operation.path)},"value":${operation.value}}`;
    }
}
/** Changes with whatever decides how topics and keys lie on disk, so that homes of another format are not used again. */
async function storeFingerprint(dist) {
    const hash = createHash('sha256');
    for (const folder of ['store', 'topics', 'keys']) {
        const names = existsSync(join(dist, folder)) ? await readdir(join(dist, folder)) : [];
        for (const name of names.filter((name) => name.endsWith('.js')).sort()) {
            hash.update(name).update(await readFile(join(dist, folder, name)));
        }
    }
    return hash.digest('hex').slice(0, 16);
}
